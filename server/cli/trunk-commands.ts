import { createTrunk } from "../telephony/trunks/create-trunk.ts";
import { deleteTrunk } from "../telephony/trunks/delete-trunk.ts";
import {
  validateTrunkNodes,
  NewTrunk,
  TrunkPatch,
  type TrunkResponse,
} from "../telephony/trunks/trunk-schema.ts";
import { listTrunks } from "../telephony/trunks/trunks.ts";
import { updateTrunk } from "../telephony/trunks/update-trunk.ts";
import { invalid } from "../lib/errors.ts";
import type { Command, Option, Outcome, Words } from "./command.ts";
import { everyPage } from "./every-page.ts";
import { notifyNodes, trail } from "./node-commands.ts";
import { readAs, readId, readList, readNumber, readSwitch } from "./read-words.ts";
import type { Session } from "./session.ts";
import { textTable } from "./text-table.ts";

const columns = [
  "id",
  "name",
  "endpoint",
  "only_account_id",
  "caller_ids",
  "active",
  "nodes",
] as const;

const changes = {
  account: trail,
  "only-account": { value: "id", about: `The only account that may use it; "" for every account` },
  "number-format": { value: "format", about: "e164, plus_e164 or national" },
  "number-prefix": { value: "digits", about: "Dialed before each number" },
  "caller-ids": { value: "list", about: "Caller IDs that the carrier accepts" },
  "caller-ids-only": {
    value: "yes|no",
    about: "Whether calls show only their account's phone numbers of the list (yes by default)",
  },
  "agent-numbers": {
    value: "verified|any",
    about: "Which phones it rings as agents (verified by default)",
  },
  destinations: { value: "list", about: "Countries that it calls, such as IN,AE, or *" },
  "fallback-trunk": {
    value: "id",
    about: `The trunk that its campaigns move to when it cannot be used; "" for none`,
  },
  nodes: {
    value: "list",
    about: "Its nodes, as node:legs per second:simultaneous calls, such as 1:10:100,2:10:100",
  },
  active: { value: "yes|no", about: "An inactive trunk takes no new calls" },
} satisfies Record<string, Option>;

export const trunkCommands: readonly Command[] = [
  {
    name: "trunk add",
    summary: "Add a trunk",
    options: {
      name: { value: "name", about: "Unique in the installation", required: true },
      endpoint: {
        value: "name",
        about: "Endpoint in the nodes' PJSIP configuration",
        required: true,
      },
      ...changes,
    },
    run: add,
  },
  {
    name: "trunk list",
    summary: "List the trunks",
    run: async (session) => {
      const db = await session.migratedDatabase();
      const trunks = await everyPage((page) => listTrunks(db.query, page));
      return { json: { data: trunks }, text: textTable(trunks.map(row), columns) };
    },
  },
  {
    name: "trunk set",
    summary: "Change or deactivate a trunk",
    operands: ["trunk"],
    options: {
      name: { value: "name", about: "Unique in the installation" },
      endpoint: { value: "name", about: "Endpoint in the nodes' PJSIP configuration" },
      ...changes,
    },
    run: set,
  },
  {
    name: "trunk remove",
    summary: "Delete a trunk without queued or live calls",
    operands: ["trunk"],
    options: { account: trail },
    run: async (session, words) => {
      const id = readId("trunk", words.operands[0]!);
      const nodes = await session.change(
        readId("account", words.option("account")!),
        (tx, { actor }) => deleteTrunk(tx, actor, id, session.now()),
      );
      await notifyNodes(session, nodes);
      return { json: { id }, text: `Trunk ${id} deleted` };
    },
  },
];

async function add(session: Session, words: Words): Promise<Outcome> {
  const wanted = readAs(NewTrunk, { nodes: [], ...definedOf(readTrunk(words)) });
  refuse(validateTrunkNodes(wanted));
  const account = readId("account", words.option("account")!);
  const trunk = await session.change(account, (tx, { actor }) =>
    createTrunk(tx, actor, wanted, session.now()),
  );
  await notifyNodes(
    session,
    trunk.nodes.map(({ node_id }) => node_id),
  );
  return trunkOutcome(trunk);
}

async function set(session: Session, words: Words): Promise<Outcome> {
  const id = readId("trunk", words.operands[0]!);
  const patch = readAs(TrunkPatch, readTrunk(words));
  refuse(validateTrunkNodes(patch));
  const account = readId("account", words.option("account")!);
  const { trunk, nodes, moved } = await session.change(account, (tx, { actor }) =>
    updateTrunk(tx, actor, id, patch, session.now()),
  );
  await notifyNodes(session, nodes, moved);
  return trunkOutcome(trunk);
}

function readTrunk(words: Words): Record<string, unknown> {
  const only = words.option("only-account");
  const fallback = words.option("fallback-trunk");
  const callerIds = words.option("caller-ids");
  const destinations = words.option("destinations");
  const nodes = words.option("nodes");
  return {
    name: words.option("name"),
    endpoint: words.option("endpoint"),
    only_account_id: only === "" ? null : readNumber(only),
    number_format: words.option("number-format"),
    number_prefix: words.option("number-prefix"),
    caller_ids: callerIds === undefined ? undefined : readList(callerIds),
    destinations: destinations === undefined ? undefined : readList(destinations),
    caller_ids_only: readSwitch("caller-ids-only", words.option("caller-ids-only")),
    agent_numbers: words.option("agent-numbers"),
    fallback_trunk_id: fallback === "" ? null : readNumber(fallback),
    nodes: nodes === undefined ? undefined : readList(nodes).map(readShare),
    active: readSwitch("active", words.option("active")),
  };
}

function readShare(text: string): Record<string, unknown> {
  const [node_id, calls_per_second, calls_max] = text.split(":").map(readNumber);
  return definedOf({ node_id, calls_per_second, calls_max });
}

function definedOf(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function refuse(violations: Parameters<typeof invalid>[0]): void {
  if (violations.length > 0) throw invalid(violations);
}

/** Formats a trunk's nodes as the --nodes option takes them. */
function row({ nodes, ...trunk }: TrunkResponse) {
  const shares = nodes.map(
    ({ node_id, calls_per_second, calls_max }) => `${node_id}:${calls_per_second}:${calls_max}`,
  );
  return { ...trunk, nodes: shares };
}

function trunkOutcome(trunk: TrunkResponse): Outcome {
  return { json: trunk, text: textTable([row(trunk)], columns) };
}
