import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../lib/errors.ts";
import { openGroupCommit, type GroupCommitLimits } from "./group-commit.ts";

type Batch = {
  readonly key: string;
  readonly items: readonly string[];
  readonly answer: (answers?: readonly (string | undefined)[]) => void;
  readonly fail: (error: Error) => void;
};

/** A group commit of texts whose batches the test resolves; `alone` lists the items written alone. */
function fixture(
  limits: Partial<GroupCommitLimits> = {},
  groupOf: ((text: string) => string) | null = null,
) {
  const batches: Batch[] = [];
  const alone: string[] = [];
  const group = openGroupCommit<string, string, string>({
    name: "texts",
    limits: { batch_items: 10, ...limits },
    lengthOf: (text) => text.length,
    ...(groupOf ? { groupOf } : {}),
    write(key, items) {
      const { promise, resolve, reject } = Promise.withResolvers<readonly (string | undefined)[]>();
      const answer = (answers: readonly (string | undefined)[] = items) => resolve(answers);
      batches.push({ key, items, answer, fail: reject });
      return promise;
    },
    async writeAlone(_key, item) {
      alone.push(item);
      if (item.startsWith("bad")) throw new Error(`${item} is not valid`);
      return item;
    },
  });
  return { ...group, batches, alone };
}

/** Resolves after everything that is ready to run. */
async function settled(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise(setImmediate);
}

const written = (batches: readonly Batch[]) =>
  batches.map(({ key, items }) => `${key}: ${items.join(" ")}`);

const isUnavailable = (error: unknown) => error instanceof Refusal && error.type === "unavailable";

const unreachable = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });

test("items of a key that arrive together, or while a batch is being written, share a batch", async () => {
  const { commit, batches } = fixture();
  const first = Promise.all(["1", "2"].map((text) => commit("a", text)));
  await settled();
  const rest = Promise.all(["3", "4", "5"].map((text) => commit("a", text)));
  await settled();
  assert.deepEqual(written(batches), ["a: 1 2"]);
  batches[0]!.answer(["one", "two"]);
  assert.deepEqual(await first, ["one", "two"]);
  await settled();
  assert.deepEqual(written(batches), ["a: 1 2", "a: 3 4 5"]);
  batches[1]!.answer();
  assert.deepEqual(await rest, ["3", "4", "5"]);
});

test("a key waits for no other key while a lane is free, and otherwise goes before keys that were served", async () => {
  const { commit, batches } = fixture({ lanes: 2, batch_items: 1 });
  const all = ["a 1", "a 2", "a 3", "b 1", "c 1"].map((text) => commit(text[0]!, text));
  await settled();
  assert.deepEqual(written(batches), ["a: a 1", "b: b 1"]);
  for (let i = 0; i < 5; i++) {
    batches[i]!.answer();
    await settled();
  }
  assert.deepEqual(written(batches), ["a: a 1", "b: b 1", "c: c 1", "a: a 2", "a: a 3"]);
  await Promise.all(all);
});

test("a batch is bounded by items and by characters, and has at least one item", async () => {
  const { commit, batches, waiting } = fixture({ batch_items: 3, batch_characters: 8 });
  const texts = ["1", "2", "3", "four", "five", "more than eight", "6"];
  const all = texts.map((text) => commit("a", text));
  for (let i = 0; i < 4; i++) {
    await settled();
    batches[i]!.answer();
  }
  await Promise.all(all);
  assert.deepEqual(written(batches), ["a: 1 2 3", "a: four five", "a: more than eight", "a: 6"]);
  assert.equal(waiting(), 0);
});

const full: readonly [string, Partial<GroupCommitLimits>, string][] = [
  ["items", { waiting_items: 2 }, "b"],
  ["characters", { waiting_characters: 4 }, "b"],
  ["items of the group", { group_waiting_items: 2 }, "a"],
  ["characters of the group", { group_waiting_characters: 4 }, "a"],
];
for (const [name, limits, key] of full)
  test(`too many waiting ${name} are rejected at once as unavailable, and what waits is written`, async () => {
    const { commit, batches } = fixture(limits);
    const all = Promise.all([commit("a", "12"), commit("a", "34")]);
    await assert.rejects(commit(key, "5"), isUnavailable);
    const other = name.endsWith("of the group") ? commit("b", "6") : null;
    await settled();
    const again = commit(key, "7");
    for (const batch of batches) batch.answer();
    await settled();
    batches.at(-1)!.answer();
    assert.deepEqual(await all, ["12", "34"]);
    assert.equal(await again, "7");
    await other;
  });

test("keys of a group share its limit, and other groups find room", async () => {
  const { commit, batches } = fixture({ group_waiting_items: 2 }, (text) => text[0]!);
  const all = Promise.all([commit("1", "a 1"), commit("2", "a 2")]);
  await assert.rejects(commit("3", "a 3"), isUnavailable);
  const other = commit("4", "b 4");
  await settled();
  for (const batch of batches) batch.answer();
  assert.deepEqual(await all, ["a 1", "a 2"]);
  assert.equal(await other, "b 4");
});

test("items that are committed together are all admitted if their group has room for one, and otherwise all rejected", async () => {
  const { commitAll, batches } = fixture({ group_waiting_items: 2 });
  const first = Promise.all(commitAll(["1", "2", "3"].map((text) => ["a", text])));
  const mixed = commitAll([
    ["a", "4"],
    ["b", "5"],
    ["a", "6"],
  ]);
  await assert.rejects(mixed[0]!, isUnavailable);
  await assert.rejects(mixed[2]!, isUnavailable);
  await settled();
  for (const batch of batches) batch.answer();
  assert.deepEqual(await first, ["1", "2", "3"]);
  assert.equal(await mixed[1], "5");
});

test("a batch that fails is written item by item, so that only the invalid item fails", async () => {
  const { commit, batches, alone } = fixture();
  const all = Promise.allSettled(["1", "bad", "2"].map((text) => commit("a", text)));
  await settled();
  batches[0]!.fail(new Error("one of them is not valid"));
  assert.deepEqual(
    (await all).map((each) =>
      each.status === "fulfilled" ? each.value : (each.reason as Error).message,
    ),
    ["1", "bad is not valid", "2"],
  );
  assert.deepEqual(alone, ["1", "bad", "2"]);
});

test("an item that is missing from the batch's result is written alone", async () => {
  const { commit, batches, alone } = fixture();
  const all = Promise.all(["1", "2"].map((text) => commit("a", text)));
  await settled();
  batches[0]!.answer([undefined, "two"]);
  assert.deepEqual(await all, ["1", "two"]);
  assert.deepEqual(alone, ["1"]);
});

test("an unavailable database rejects the batch as unavailable, is not retried for it, and is tried for the next item", async () => {
  const { commit, batches, alone } = fixture();
  const all = ["1", "2"].map((text) => assert.rejects(commit("a", text), isUnavailable));
  await settled();
  batches[0]!.fail(unreachable);
  await Promise.all(all);
  assert.deepEqual(alone, []);
  const next = commit("a", "3");
  await settled();
  batches[1]!.answer();
  assert.equal(await next, "3");
});
