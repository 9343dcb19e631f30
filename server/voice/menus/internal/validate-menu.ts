// Validates a menu as a graph: every path leads to an end, and no loop is without a prompt.
import { validateScript } from "../../../calls/state-machine/script-text.ts";
import type { FieldError } from "../../../lib/errors.ts";
import { fieldsOf, isGiven, validateTransfer, type Fields } from "../../files/validate-content.ts";
import { findLoops } from "./find-loops.ts";
import { node_types, nodes_max, type GraphNode } from "../menu-schema.ts";

type NodeType = GraphNode["type"];

/** The required fields of each type of node. */
const required: Readonly<Record<NodeType, readonly string[]>> = {
  play: ["prompt", "next"],
  menu: ["prompt", "keys", "otherwise"],
  capture: ["prompt", "variable", "next", "otherwise"],
  record: ["prompt", "next"],
  transfer: ["to", "otherwise"],
  callback: [],
  opt_out: [],
  set_field: ["field", "value", "next"],
  hang_up: [],
};
const input_fields = ["invalid_prompt", "timeout_seconds", "tries"];
/** The optional fields of each type of node. */
const allowed: Readonly<Record<NodeType, readonly string[]>> = {
  play: [],
  menu: input_fields,
  capture: [...input_fields, "min_digits", "max_digits"],
  record: ["max_seconds", "silence_seconds"],
  transfer: ["prompt"],
  callback: ["prompt", "delay_minutes"],
  opt_out: ["prompt"],
  set_field: [],
  hang_up: ["prompt"],
};
/** The schema reports unknown fields. */
const known_fields = new Set([...Object.values(required), ...Object.values(allowed)].flat());

const node_name = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const node_reason = "must be a node of this menu";

/** Validates a menu's `start` and `nodes` beyond the schema; each may have any shape. */
export function validateMenu(start: unknown, nodes: unknown): FieldError[] {
  const all = fieldsOf(nodes);
  if (!all) return [];
  const names = Object.keys(all);
  if (names.length === 0) return [{ field: "nodes", reason: "must have at least one node" }];
  if (names.length > nodes_max)
    return [{ field: "nodes", reason: `must have at most ${nodes_max} nodes` }];
  const read = new Map(names.map((name) => [name, readNode(name, all[name])]));
  const violations = [...read.values()].flatMap((node) => node.violations);
  for (const { at, links } of read.values())
    for (const { field, to } of links)
      if (!read.has(to)) violations.push({ field: `${at}.${field}`, reason: node_reason });
  const knowsStart = typeof start === "string" && read.has(start);
  if (typeof start === "string" && !knowsStart)
    violations.push({ field: "start", reason: node_reason });
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
  // The schema reports its shape; its links are unknown, so it counts as an end.
  if (!fields || !type) return { at, violations, links: [], ends: true, playsPrompt: true };
  violations.push(...validateFields(at, type, fields));
  const links = linksOf(fields);
  return {
    at,
    violations,
    links,
    ends: ["hang_up", "opt_out", "transfer", "callback"].includes(type),
    playsPrompt: isGiven(fields, "prompt"),
  };
}

/** Returns the links of a node with their fields. Without input from the caller, `next` or `otherwise` applies. */
function linksOf(fields: Fields): { field: string; to: string; automatic: boolean }[] {
  const keys = Object.entries(fieldsOf(fields["keys"]) ?? {});
  const isCapture = fields["type"] === "capture";
  const links = [
    ...keys.map(([key, to]) => ({ field: `keys.${key}`, to, automatic: false })),
    { field: "next", to: fields["next"], automatic: !isCapture },
    { field: "otherwise", to: fields["otherwise"], automatic: true },
  ];
  return links.flatMap(({ to, ...link }) => (typeof to === "string" ? [{ ...link, to }] : []));
}

function validateFields(at: string, type: NodeType, fields: Fields): FieldError[] {
  const violation = (name: string, reason: string): FieldError => ({
    field: `${at}.${name}`,
    reason,
  });
  const missing = required[type].filter((name) => !isGiven(fields, name));
  const extra = Object.keys(fields).filter(
    (name) =>
      known_fields.has(name) &&
      isGiven(fields, name) &&
      !required[type].includes(name) &&
      !allowed[type].includes(name),
  );
  return [
    ...missing.map((name) => violation(name, "is required")),
    ...extra.map((name) => violation(name, `is not allowed in a ${type} node`)),
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
  if (says && plays) return [{ field: at, reason: "must not have both say and voice_file_id" }];
  if (plays && isGiven(fields, "language"))
    return [{ field: `${at}.language`, reason: "is allowed only with say" }];
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
  if (names.length === 0) return [{ field: at, reason: "must have at least one key" }];
  return names
    .filter((key) => !/^[0-9*#]$/.test(key))
    .map((key) => ({ field: `${at}.${key}`, reason: "must be one of 0-9, * and #" }));
}

function validateDigits(at: string, { type, min_digits, max_digits }: Fields): FieldError[] {
  if (type !== "capture") return [];
  const fewest = typeof min_digits === "number" ? min_digits : 1;
  const most = typeof max_digits === "number" ? max_digits : 20;
  if (fewest <= most) return [];
  return [{ field: `${at}.max_digits`, reason: "must not be below min_digits" }];
}
