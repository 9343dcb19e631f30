import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { validateMenu } from "./validate-menu.ts";

const say = { say: "Hello" };
const bye = { type: "hang_up" };

/** Returns the violations as `field: reason`. */
function violationsOf(nodes: Record<string, unknown>, start: unknown = "main"): string[] {
  return validateMenu(start, nodes).map(({ field, reason }) => `${field}: ${reason}`);
}

test("accepts a menu with every type of node in which every path leads to an end", () => {
  const nodes = {
    main: {
      type: "menu",
      prompt: { say: "Hello {{name|there}}" },
      invalid_prompt: { voice_file_id: 1 },
      keys: { "1": "pin", "2": "sales", "3": "main", "9": "stop", "*": "mail", "#": "thanks" },
      tries: 2,
      timeout_seconds: null,
      otherwise: "bye",
    },
    pin: { type: "capture", prompt: say, variable: "pin", next: "note", otherwise: "main" },
    note: { type: "set_field", field: "pin", value: "{{pin}}", next: "thanks" },
    sales: { type: "transfer", to: { extension: "101" }, otherwise: "mail" },
    mail: { type: "record", prompt: say, next: "thanks" },
    thanks: { type: "play", prompt: say, next: "bye" },
    stop: { type: "opt_out", prompt: say },
    bye,
  };
  assert.deepEqual(violationsOf(nodes), []);
});

test("reports every violation of a menu at once, each with its path", () => {
  const nodes = {
    main: {
      type: "menu",
      prompt: {},
      keys: { "1": "sales", A: "bye" },
      otherwise: "bye",
      next: "bye",
    },
    sales: { type: "transfer", prompt: { say: "{{", voice_file_id: 1 }, to: {}, otherwise: "gone" },
    "9 lives": { ...bye, prompt: { voice_file_id: 1, language: "en" } },
    pin: {
      type: "capture",
      prompt: { say: "{{" },
      keys: {},
      min_digits: 5,
      max_digits: 4,
      next: 1,
    },
    silent: { type: "set_field", field: "x", value: "{{", next: "silent2" },
    silent2: { type: "transfer", to: { extension: "101" }, otherwise: "silent" },
    bye,
  };
  assert.deepEqual(violationsOf(nodes).toSorted(), [
    "nodes.9 lives.prompt.language: is allowed only with say",
    "nodes.9 lives: must be named with 1 to 64 letters, digits, _ or -, beginning with a letter",
    "nodes.main.keys.A: must be one of 0-9, * and #",
    "nodes.main.next: is not allowed in a menu node",
    "nodes.main.prompt: must have say or voice_file_id",
    "nodes.pin.keys: is not allowed in a capture node",
    "nodes.pin.max_digits: must not be below min_digits",
    "nodes.pin.otherwise: is required",
    "nodes.pin.prompt.say: must close every {{ with }}",
    "nodes.pin.variable: is required",
    "nodes.pin: must be reachable from start",
    "nodes.sales.otherwise: must be a node of this menu",
    "nodes.sales.prompt: must not have both say and voice_file_id",
    "nodes.sales.to: must have either extension or agent_group_id",
    "nodes.silent.value: must close every {{ with }}",
    "nodes.silent2: must be reachable from start",
    "nodes.silent: must be reachable from start",
  ]);
});

test("rejects a menu that never ends or has a loop without a prompt", () => {
  const round = { type: "play", prompt: say, next: "main" };
  assert.deepEqual(violationsOf({ main: round }), [
    "nodes.main: must lead to a hang_up, callback, opt_out or transfer node",
  ]);
  const asking = { type: "menu", prompt: say, keys: { "1": "bye" }, otherwise: "main" };
  assert.deepEqual(violationsOf({ main: asking, bye }), [
    "nodes.main: must lead to a hang_up, callback, opt_out or transfer node when the caller presses nothing",
  ]);
  const ringing = { type: "transfer", to: { extension: "101" }, otherwise: "main" };
  assert.deepEqual(violationsOf({ main: ringing }), [
    "nodes.main: must not be part of a loop without a prompt",
  ]);
  assert.deepEqual(violationsOf({ main: { ...ringing, prompt: say } }), []);
});

test("validates a body of any shape without throwing, and does not examine too many nodes", () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), (start, nodes) => {
      validateMenu(start, nodes);
    }),
  );
  assert.deepEqual(violationsOf({}), ["nodes: must have at least one node"]);
  assert.deepEqual(violationsOf({ toString: bye }, "constructor"), [
    "start: must be a node of this menu",
  ]);
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`n${i}`, {}]));
  assert.deepEqual(violationsOf(many), ["nodes: must have at most 100 nodes"]);
});

const names = ["a", "b", "c", "d", "e"] as const;
const target = fc.constantFrom(...names);
const node = fc.oneof(
  fc.record({ type: fc.constant("play"), prompt: fc.constant(say), next: target }),
  fc.record({
    type: fc.constant("menu"),
    prompt: fc.constant(say),
    keys: fc.dictionary(fc.constantFrom("1", "2"), target, { minKeys: 1 }),
    otherwise: target,
  }),
  fc.record({
    type: fc.constant("transfer"),
    to: fc.constant({ extension: "101" }),
    otherwise: target,
  }),
  fc.record({
    type: fc.constant("set_field"),
    field: fc.constant("x"),
    value: fc.constant("y"),
    next: target,
  }),
  fc.constant(bye),
);

type AnyNode = {
  type: string;
  prompt?: unknown;
  next?: string;
  otherwise?: string;
  keys?: Record<string, string>;
};

test("accepts exactly the small menus whose nodes are all reachable, lead to an end and have no silent loop", () => {
  const menu = fc.record(Object.fromEntries(names.map((name) => [name, node])));
  fc.assert(
    fc.property(menu, (drawn) => {
      const nodes = drawn as Record<string, AnyNode>;
      const linksOf = ({ next, otherwise, keys = {} }: AnyNode) =>
        [next, otherwise, ...Object.values(keys)].filter((to) => to !== undefined);
      const all = closure(nodes, linksOf);
      const automatic = closure(nodes, ({ next, otherwise }) => [next ?? otherwise ?? ""]);
      const silent = closure(nodes, (one) => (one.prompt ? [] : linksOf(one)));
      const isEnd = (name: string) => ["hang_up", "transfer"].includes(nodes[name]!.type);
      const isValid = names.every(
        (name) =>
          all.get("a")!.has(name) &&
          [...automatic.get(name)!].some(isEnd) &&
          !nodesAfter(nodes, silent, name, linksOf).has(name),
      );
      assert.equal(validateMenu("a", nodes).length === 0, isValid, JSON.stringify(nodes));
    }),
    { numRuns: 2_000 },
  );
});

/** Returns the nodes that are reachable from each node, itself included. */
function closure(
  nodes: Record<string, AnyNode>,
  linksOf: (node: AnyNode) => string[],
): Map<string, Set<string>> {
  const reached = new Map(names.map((name) => [name as string, new Set<string>([name])]));
  const widen = (seen: Set<string>) =>
    new Set([...seen].flatMap((from) => [from, ...linksOf(nodes[from]!).filter(Boolean)]));
  for (let i = 0; i < names.length; i++)
    for (const name of names) reached.set(name, widen(reached.get(name)!));
  return reached;
}

/** Returns the nodes that are reachable without a prompt from a node without a prompt; none from any other node. */
function nodesAfter(
  nodes: Record<string, AnyNode>,
  silent: Map<string, Set<string>>,
  name: string,
  linksOf: (node: AnyNode) => string[],
): Set<string> {
  const from = nodes[name]!;
  if (from.prompt || from.type === "hang_up") return new Set();
  return new Set(linksOf(from).flatMap((to) => [...silent.get(to)!]));
}
