import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { validateMenu } from "./validate-menu.ts";

const say = { say: "Hello" };
const bye = { type: "hang_up" };

/** The violations as `field: reason`. */
function violationsOf(nodes: Record<string, unknown>, start: unknown = "main"): string[] {
  return validateMenu(start, nodes).map(({ field, reason }) => `${field}: ${reason}`);
}

test("a menu of every type of node that leads everybody out has no violation", () => {
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

test("every violation of a menu is told at once, each with its path", () => {
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
    "nodes.9 lives.prompt.language: belongs to say",
    "nodes.9 lives: must be named with 1 to 64 letters, digits, _ or -, beginning with a letter",
    "nodes.main.keys.A: is no key: must be one of 0-9, * and #",
    "nodes.main.next: does not belong to a menu node",
    "nodes.main.prompt: must have say or voice_file_id",
    "nodes.pin.keys: does not belong to a capture node",
    "nodes.pin.max_digits: must not be below min_digits",
    "nodes.pin.otherwise: is required",
    "nodes.pin.prompt.say: has a {{ that no }} ends",
    "nodes.pin.variable: is required",
    "nodes.pin: cannot be reached from start",
    "nodes.sales.otherwise: is no node of this menu",
    "nodes.sales.prompt: must have only one of say and voice_file_id",
    "nodes.sales.to: must have one of extension and agent_group_id",
    "nodes.silent.value: has a {{ that no }} ends",
    "nodes.silent2: cannot be reached from start",
    "nodes.silent: cannot be reached from start",
  ]);
});

test("a menu that keeps callers for ever, or goes round without a sound, is refused", () => {
  const round = { type: "play", prompt: say, next: "main" };
  assert.deepEqual(violationsOf({ main: round }), [
    "nodes.main: leads to no end: to no hang_up, opt_out or transfer",
  ]);
  const asking = { type: "menu", prompt: say, keys: { "1": "bye" }, otherwise: "main" };
  assert.deepEqual(violationsOf({ main: asking, bye }), [
    "nodes.main: leads to no end for a caller who presses nothing",
  ]);
  const ringing = { type: "transfer", to: { extension: "101" }, otherwise: "main" };
  assert.deepEqual(violationsOf({ main: ringing }), [
    "nodes.main: is part of a loop in which nothing is played",
  ]);
  assert.deepEqual(violationsOf({ main: { ...ringing, prompt: say } }), []);
});

test("a body of any shape is validated without a throw, and too many nodes are not looked at", () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), (start, nodes) => {
      validateMenu(start, nodes);
    }),
  );
  assert.deepEqual(violationsOf({}), ["nodes: must hold at least one node"]);
  assert.deepEqual(violationsOf({ toString: bye }, "constructor"), [
    "start: is no node of this menu",
  ]);
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`n${i}`, {}]));
  assert.deepEqual(violationsOf(many), ["nodes: must hold at most 100 nodes"]);
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

test("of small menus exactly those have no violation that every caller gets into, hears and gets out of", () => {
  const menu = fc.record(Object.fromEntries(names.map((name) => [name, node])));
  fc.assert(
    fc.property(menu, (drawn) => {
      const nodes = drawn as Record<string, AnyNode>;
      const stepsOf = ({ next, otherwise, keys = {} }: AnyNode) =>
        [next, otherwise, ...Object.values(keys)].filter((to) => to !== undefined);
      const all = closure(nodes, stepsOf);
      const unasked = closure(nodes, ({ next, otherwise }) => [next ?? otherwise ?? ""]);
      const unheard = closure(nodes, (one) => (one.prompt ? [] : stepsOf(one)));
      const isEnd = (name: string) => ["hang_up", "transfer"].includes(nodes[name]!.type);
      const isGood = names.every(
        (name) =>
          all.get("a")!.has(name) &&
          [...unasked.get(name)!].some(isEnd) &&
          !nodesAfter(nodes, unheard, name, stepsOf).has(name),
      );
      assert.equal(validateMenu("a", nodes).length === 0, isGood, JSON.stringify(nodes));
    }),
    { numRuns: 2_000 },
  );
});

/** What one comes to from each node, itself included, by widening until nothing is added. */
function closure(
  nodes: Record<string, AnyNode>,
  stepsOf: (node: AnyNode) => string[],
): Map<string, Set<string>> {
  const reached = new Map(names.map((name) => [name as string, new Set<string>([name])]));
  const widen = (seen: Set<string>) =>
    new Set([...seen].flatMap((from) => [from, ...stepsOf(nodes[from]!).filter(Boolean)]));
  for (let i = 0; i < names.length; i++)
    for (const name of names) reached.set(name, widen(reached.get(name)!));
  return reached;
}

/** Where a node that plays nothing leads without a sound; nowhere for one that plays. */
function nodesAfter(
  nodes: Record<string, AnyNode>,
  unheard: Map<string, Set<string>>,
  name: string,
  stepsOf: (node: AnyNode) => string[],
): Set<string> {
  const from = nodes[name]!;
  if (from.prompt || from.type === "hang_up") return new Set();
  return new Set(stepsOf(from).flatMap((to) => [...unheard.get(to)!]));
}
