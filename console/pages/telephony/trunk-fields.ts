// A trunk in a form: its limits on each node are fields of their own.
import { ApiProblem } from "../../api/problem.ts";
import type { Trunk, TrunkBody, VoiceNode } from "../../api/telephony.ts";
import type { FormField, FormValues } from "../../ui/form-fields.tsx";

/** The part of the form that says how a node has the trunk. */
const partOf = (node_id: number) => `node_${node_id}`;

/** The fields of a trunk that may fall back to any of the others. */
export const trunkFields = (
  nodes: readonly VoiceNode[],
  others: readonly Trunk[],
): readonly FormField[] => [
  { name: "name", label: "Name", kind: "text" },
  {
    name: "endpoint",
    label: "Endpoint",
    kind: "text",
    note: "The carrier's in the nodes' PJSIP configuration.",
  },
  {
    name: "number_format",
    label: "Numbers are dialed as",
    kind: "choice",
    options: [
      { value: "e164", label: "919876543210" },
      { value: "plus_e164", label: "+919876543210" },
      { value: "national", label: "9876543210" },
    ],
  },
  { name: "number_prefix", label: "Dialed before each number", kind: "text" },
  {
    name: "caller_ids",
    label: "Caller IDs",
    kind: "lines",
    note: "One a line: those that the carrier accepts.",
  },
  { name: "caller_ids_only", label: "Accounts show only their own numbers", kind: "check" },
  {
    name: "agent_numbers",
    label: "Agents' phones that it rings",
    kind: "choice",
    options: [
      { value: "verified", label: "Those that the account has added" },
      { value: "any", label: "Any phone" },
    ],
  },
  {
    name: "destinations",
    label: "Countries that it calls",
    kind: "lines",
    note: "One a line, such as IN; * is every country.",
  },
  {
    name: "fallback_trunk_id",
    label: "If it cannot be used",
    kind: "choice",
    empty: "Campaigns wait",
    options: others.map(({ id, name }) => ({ value: id, label: `They move to ${name}` })),
  },
  {
    name: "only_account_id",
    label: "Only for the account",
    kind: "number",
    empty: "Every account",
  },
  { name: "active", label: "Takes new calls", kind: "check" },
  ...nodes.flatMap(fieldsOfNode),
];

const fieldsOfNode = ({ id, name }: VoiceNode): FormField[] => [
  { name: `${partOf(id)}.used`, label: `The node ${name} has it`, kind: "check" },
  {
    name: `${partOf(id)}.calls_per_second`,
    label: `New legs a second on ${name}`,
    kind: "number",
  },
  { name: `${partOf(id)}.calls_max`, label: `Calls at the same time on ${name}`, kind: "number" },
];

/** What the form of a new trunk shows: the defaults of the API. */
export const new_trunk = {
  number_format: "e164",
  caller_ids_only: true,
  agent_numbers: "verified",
  destinations: ["*"],
  active: true,
};

/** A trunk as the form shows it. */
export const changedTrunk = (trunk: Trunk): FormValues => ({
  ...trunk,
  ...Object.fromEntries(
    trunk.nodes.map(({ node_id, ...limits }) => [partOf(node_id), { used: true, ...limits }]),
  ),
});

/** The trunk that a form says. */
export function trunkOf(json: FormValues, nodes: readonly VoiceNode[]): TrunkBody {
  const fields = Object.entries(json).filter(([name]) => !name.startsWith("node_"));
  const places = nodes.flatMap(({ id }) => {
    const { used, ...limits } = json[partOf(id)] as FormValues;
    return used === true ? [{ node_id: id, ...limits }] : [];
  });
  return { ...Object.fromEntries(fields), nodes: places } as TrunkBody;
}

/** Returns the changes to the trunk; a changed node sends all nodes. */
export function changesOf(changed: FormValues, trunk: TrunkBody): Partial<TrunkBody> {
  const names = new Set(
    Object.keys(changed).map((name) => (name.startsWith("node_") ? "nodes" : name)),
  );
  return Object.fromEntries(Object.entries(trunk).filter(([name]) => names.has(name)));
}

/** Names `nodes.0.calls_max` as the form does. */
export function nodeFieldsOfErrors(error: ApiProblem, places: TrunkBody["nodes"]): ApiProblem {
  const errors = error.errors.map(({ field, reason }) => {
    const [, at, name] = /^nodes\.(\d+)\.(\w+)$/.exec(field) ?? [];
    const place = at === undefined ? undefined : places[Number(at)];
    return { field: place ? `${partOf(place.node_id)}.${name}` : field, reason };
  });
  const { status, type, message, request_id } = error;
  return new ApiProblem(status, type, message, { errors, request_id });
}
