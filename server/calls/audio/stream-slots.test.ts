import assert from "node:assert/strict";
import { once } from "node:events";
import { Readable } from "node:stream";
import { test } from "node:test";
import { Refusal } from "../../lib/errors.ts";
import { openStreamSlots } from "./stream-slots.ts";

test("a stream has its slot from its opening until it closes, fails or could not be opened", async () => {
  const slots = openStreamSlots("streams", { slots_max: 3, of_account_max: 2 });
  const openOne = async () => Readable.from(["a"]);
  const refused = (type: string) => (error: unknown) =>
    error instanceof Refusal && error.type === type;
  await assert.rejects(
    slots.open(1, () => Promise.reject(new Error("not opened"))),
    /not opened/,
  );
  const slow = Promise.withResolvers<Readable>();
  const opening = slots.open(1, () => slow.promise);
  const one = await slots.open(1, openOne);
  await assert.rejects(slots.open(1, openOne), refused("rate-limited"));
  const two = await slots.open(2, openOne);
  await assert.rejects(slots.open(3, openOne), refused("unavailable"));
  one.destroy();
  await once(one, "close");
  two.destroy(new Error("failed"));
  await assert.rejects(once(two, "close"), /failed/);
  const [three, four] = [await slots.open(1, openOne), await slots.open(2, openOne)];
  // Already closed when it is returned.
  slow.resolve(three);
  three.destroy();
  await once(three, "close");
  assert.equal(await opening, three);
  for (const stream of [await slots.open(1, openOne), await slots.open(1, openOne), four])
    assert.equal(await stream.toArray().then(String), "a");
});
