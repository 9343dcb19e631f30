// Validates a menu as a graph: whoever is in it gets out of it, and hears something on the way.
import { validateScript } from "../../../calls/state-machine/script-text.ts";
import type { FieldError } from "../../../lib/errors.ts";
import { fieldsOf, isGiven, validateTransfer, type Fields } from "../../files/validate-content.ts";
import { findLoops } from "./find-loops.ts";
import { node_types, nodes_max, type GraphNode } from "../menu-schema.ts";

type NodeType = GraphNode["type"];

/** What each type of node has to have, and what it may have beside. */
const needed: Readonly<Record<NodeType, readonly string[]>> = {
  play: ["prompt", "next"],
  menu: ["prompt", "keys", "otherwise"],
  capture: ["prompt", "variable", "next", "otherwise"],
  record: ["prompt", "next"],
  transfer: ["to", "otherwise"],
  opt_out: [],
  set_field: ["field", "value", "next"],
  hang_up: [],
};
const asking = ["invalid_prompt", "timeout_seconds", "tries"];
const allowed: Readonly<Record<NodeType, readonly string[]>> = {
  play: [],
  menu: asking,
  capture: [...asking, "min_digits", "max_digits"],
  record: ["max_seconds", "silence_seconds"],
  transfer: ["prompt"],
  opt_out: ["prompt"],
  set_field: [],
  hang_up: ["prompt"],
};
/** A misspelt one is told by the schema. */
const known_fields = new Set([...Object.values(needed), ...Object.values(allowed)].flat());

const node_name = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const no_node = "is no node of this menu";

/** What a schema cannot see of a menu's `start` and `nodes`, each of which may have any shape. */
export function validateMenu(start: unknown, nodes: unknown): FieldError[] {
  const all = fieldsOf(nodes);
  if (!all) return [];
  const names = Object.keys(all);
  if (names.length === 0) return [{ field: "nodes", reason: "must hold at least one node" }];
  if (names.length > nodes_max)
    return [{ field: "nodes", reason: `must hold at most ${nodes_max} nodes` }];
  const read = new Map(names.map((name) => [name, readNode(name, all[name])]));
  const violations = [...read.values()].flatMap((node) => node.violations);
  for (const { at, steps } of read.values())
    for (const { field, to } of steps)
      if (!read.has(to)) violations.push({ field: `${at}.${field}`, reason: no_node });
  const knowsStart = typeof start === "string" && read.has(start);
  if (typeof start === "string" && !knowsStart)
    violations.push({ field: "start", reason: no_node });
  violations.push(...findLoops(read, knowsStart ? start : null));
  return [
    ...new Map(violations.toReversed().map((violation) => [violation.field, violation])).values(),
  ].toReversed();
}

function readNode(name: string, node: unknown) {
  const at = `nodes.${name}`;
  const fields = fieldsOf(node);
  const type = node_types.find((known) => known === fields?.["type"]);
  const reason = "must be named with 1 to 64 letters, digits, _ or -, beginning with a letter";
  const violations: FieldError[] = node_name.test(name) ? [] : [{ field: at, reason }];
  // Its shape is told by the schema; what follows on it nobody can say.
  if (!fields || !type) return { at, violations, steps: [], ends: true, isHeard: true };
  violations.push(...validateFields(at, type, fields));
  const steps = stepsOf(fields);
  return {
    at,
    violations,
    steps,
    ends: type === "hang_up" || type === "opt_out" || type === "transfer",
    isHeard: isGiven(fields, "prompt"),
  };
}

/** Where a node leads, by the field that says so. A caller who does nothing takes `next` or `otherwise`. */
function stepsOf(fields: Fields): { field: string; to: string; unasked: boolean }[] {
  const keys = Object.entries(fieldsOf(fields["keys"]) ?? {});
  const isCapture = fields["type"] === "capture";
  const steps = [
    ...keys.map(([key, to]) => ({ field: `keys.${key}`, to, unasked: false })),
    { field: "next", to: fields["next"], unasked: !isCapture },
    { field: "otherwise", to: fields["otherwise"], unasked: true },
  ];
  return steps.flatMap(({ to, ...step }) => (typeof to === "string" ? [{ ...step, to }] : []));
}

function validateFields(at: string, type: NodeType, fields: Fields): FieldError[] {
  const violation = (name: string, reason: string): FieldError => ({
    field: `${at}.${name}`,
    reason,
  });
  const missing = needed[type].filter((name) => !isGiven(fields, name));
  const alien = Object.keys(fields).filter(
    (name) =>
      known_fields.has(name) &&
      isGiven(fields, name) &&
      !needed[type].includes(name) &&
      !allowed[type].includes(name),
  );
  return [
    ...missing.map((name) => violation(name, "is required")),
    ...alien.map((name) => violation(name, `does not belong to a ${type} node`)),
    ...validatePrompt(`${at}.prompt`, fields["prompt"]),
    ...validatePrompt(`${at}.invalid_prompt`, fields["invalid_prompt"]),
    ...validateTransfer(`${at}.to`, fields["to"]),
    ...validateKeys(`${at}.keys`, fields["keys"]),
    ...validateDigits(at, fields),
    ...validateText(`${at}.value`, fields["value"]),
  ];
}

function validatePrompt(at: string, prompt: unknown): FieldError[] {
  const fields = fieldsOf(prompt);
  if (!fields) return [];
  const says = isGiven(fields, "say");
  const plays = isGiven(fields, "voice_file_id");
  if (!says && !plays) return [{ field: at, reason: "must have say or voice_file_id" }];
  if (says && plays) return [{ field: at, reason: "must have only one of say and voice_file_id" }];
  if (plays && isGiven(fields, "language"))
    return [{ field: `${at}.language`, reason: "belongs to say" }];
  return validateText(`${at}.say`, fields["say"]);
}

function validateText(field: string, text: unknown): FieldError[] {
  const reason = typeof text === "string" ? validateScript(text) : null;
  return reason === null ? [] : [{ field, reason }];
}

function validateKeys(at: string, keys: unknown): FieldError[] {
  const fields = fieldsOf(keys);
  if (!fields) return [];
  const names = Object.keys(fields);
  if (names.length === 0) return [{ field: at, reason: "must hold at least one key" }];
  return names
    .filter((key) => !/^[0-9*#]$/.test(key))
    .map((key) => ({ field: `${at}.${key}`, reason: "is no key: must be one of 0-9, * and #" }));
}

function validateDigits(at: string, { type, min_digits, max_digits }: Fields): FieldError[] {
  if (type !== "capture") return [];
  const fewest = typeof min_digits === "number" ? min_digits : 1;
  const most = typeof max_digits === "number" ? max_digits : 20;
  if (fewest <= most) return [];
  return [{ field: `${at}.max_digits`, reason: "must not be below min_digits" }];
}
