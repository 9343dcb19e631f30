import { createVoiceNode } from "../telephony/nodes/create-voice-node.ts";
import { deleteVoiceNode } from "../telephony/nodes/delete-voice-node.ts";
import type { MovedCalls } from "../telephony/nodes/move-queued-calls.ts";
import { updateVoiceNode } from "../telephony/nodes/update-voice-node.ts";
import {
  validateAriUrl,
  validateNewVoiceNode,
  NewVoiceNode,
  VoiceNodePatch,
  type VoiceNodeResponse,
} from "../telephony/nodes/voice-node-schema.ts";
import { listVoiceNodes } from "../telephony/nodes/voice-nodes.ts";
import { sendNotification } from "../engine/notifications.ts";
import { invalid } from "../lib/errors.ts";
import type { Command, Option, Outcome, Words } from "./command.ts";
import { everyPage } from "./every-page.ts";
import { readSecretFile } from "./read-secret-file.ts";
import { readAs, readId, readNumber, readSwitch } from "./read-words.ts";
import type { Session } from "./session.ts";
import { textTable } from "./text-table.ts";

const columns = [
  "id",
  "name",
  "driver",
  "active",
  "connected",
  "calls_per_second",
  "calls_max",
] as const;

/** Nodes and trunks belong to no account: their changes are audited in the operator's own account. */
export const trail: Option = {
  value: "id",
  about: "The operator's account, whose audit trail records the change",
  required: true,
};

const changes = {
  account: trail,
  "ari-url": { value: "url", about: "Address of an Asterisk's ARI: http://127.0.0.1:8088/ari" },
  "ari-user": { value: "name", about: "User name from its ari.conf" },
  "ari-password-file": { value: "file", about: "File that contains the password" },
  "ari-app": { value: "name", about: "ARI application name that no other program uses" },
  "cdr-path": { value: "file", about: "Its file of call detail records (CDR)" },
  "sounds-dir": { value: "folder", about: "Folder it plays audio from; Trunkline writes to it" },
} satisfies Record<string, Option>;

const load = {
  "calls-per-second": { value: "number", about: "New legs per second, 1 to 1000" },
  "calls-max": { value: "number", about: "Simultaneous calls, 1 to 100000" },
} satisfies Record<string, Option>;

export const nodeCommands: readonly Command[] = [
  {
    name: "node add",
    summary: "Add a voice node",
    options: {
      name: { value: "name", about: "Unique in the installation", required: true },
      driver: { value: "driver", about: "asterisk or sandbox", required: true },
      ...changes,
      "calls-per-second": { ...load["calls-per-second"], required: true },
      "calls-max": { ...load["calls-max"], required: true },
    },
    run: add,
  },
  {
    name: "node list",
    summary: "List the voice nodes",
    run: async (session) => {
      const db = await session.migratedDatabase();
      const nodes = await everyPage((page) => listVoiceNodes(db.query, page));
      return { json: { data: nodes }, text: textTable(nodes, columns) };
    },
  },
  {
    name: "node set",
    summary: "Change or deactivate a voice node",
    operands: ["node"],
    options: {
      name: { value: "name", about: "Unique in the installation" },
      ...changes,
      ...load,
      active: { value: "yes|no", about: "An inactive node takes no new calls" },
    },
    run: set,
  },
  {
    name: "node remove",
    summary: "Delete a voice node without queued or live calls",
    operands: ["node"],
    options: { account: trail },
    run: async (session, words) => {
      const id = readId("node", words.operands[0]!);
      await session.change(readId("account", words.option("account")!), (tx, { actor }) =>
        deleteVoiceNode(tx, actor, id, session.now()),
      );
      await notifyNodes(session, [id]);
      return { json: { id }, text: `Node ${id} deleted` };
    },
  },
];

async function add(session: Session, words: Words): Promise<Outcome> {
  const wanted = readAs(NewVoiceNode, {
    driver: words.option("driver"),
    ...(await readNode(words)),
  });
  refuse(validateNewVoiceNode(wanted));
  const account = readId("account", words.option("account")!);
  return nodeOutcome(
    await session.change(account, (tx, { actor }) =>
      createVoiceNode(tx, actor, wanted, session.now(), session.secrets()),
    ),
  );
}

async function set(session: Session, words: Words): Promise<Outcome> {
  const id = readId("node", words.operands[0]!);
  const patch = readAs(VoiceNodePatch, {
    ...(await readNode(words)),
    active: readSwitch("active", words.option("active")),
  });
  refuse(validateAriUrl(patch));
  const account = readId("account", words.option("account")!);
  const { node, moved } = await session.change(account, (tx, { actor }) =>
    updateVoiceNode(tx, actor, id, patch, { now: session.now(), secrets: session.secrets() }),
  );
  await notifyNodes(session, [id], moved);
  return nodeOutcome(node);
}

async function readNode(words: Words): Promise<Record<string, unknown>> {
  const ari = {
    url: words.option("ari-url"),
    user: words.option("ari-user"),
    password: await readSecretFile(words, "ari-password-file"),
    app: words.option("ari-app"),
  };
  const given = Object.entries(ari).filter(([, value]) => value !== undefined);
  return {
    name: words.option("name"),
    ari: given.length > 0 ? Object.fromEntries(given) : undefined,
    cdr_path: words.option("cdr-path"),
    sounds_dir: words.option("sounds-dir"),
    calls_per_second: readNumber(words.option("calls-per-second")),
    calls_max: readNumber(words.option("calls-max")),
  };
}

function refuse(violations: Parameters<typeof invalid>[0]): void {
  if (violations.length > 0) throw invalid(violations);
}

function nodeOutcome(node: VoiceNodeResponse): Outcome {
  return { json: node, text: textTable([node], columns) };
}

/** Notifies the leaders of changed nodes, and of nodes that calls were moved to. */
export async function notifyNodes(
  session: Session,
  nodeIds: readonly number[],
  moved: MovedCalls = [],
): Promise<void> {
  const { pool } = await session.database();
  for (const id of nodeIds) await sendNotification(pool, "call_work", `${id}:0`);
  for (const { node_id, account_id } of moved)
    await sendNotification(pool, "call_work", `${node_id}:${account_id}`);
}
