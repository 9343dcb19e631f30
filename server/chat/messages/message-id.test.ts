import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  isNoticeOrTest,
  makeCallNoticeId,
  makeMessageId,
  makeTestId,
  readMessageId,
} from "./message-id.ts";

const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

test("a message ID round-trips and fits the provider's length limit", () => {
  fc.assert(
    fc.property(
      fc.record({
        account_id: id,
        campaign_id: id,
        recipient_id: id,
        dispatches: fc.integer({ min: 1, max: 999_999_999 }),
      }),
      (parts) => {
        const text = makeMessageId(parts);
        assert.deepEqual(readMessageId(text), { ...parts });
        assert.ok(text.length <= 512);
      },
    ),
  );
});

test("an invalid message ID parses as null", () => {
  const strange = [
    "",
    "trk",
    "trk.1.2.3",
    "trk.1.2.3.4.5",
    "trk.0.2.3.4",
    "trk.01.2.3.4",
    "trk.1.-2.3.4",
    "trk.1.2.3.4 ",
    "trk.1.2.3.4\n",
    "TRK.1.2.3.4",
    "trk.1.2.3.1e3",
    "trk.9007199254740993.2.3.4",
    `trk.1.2.3.${"9".repeat(400)}`,
  ];
  for (const text of strange) assert.equal(readMessageId(text), null, text);
  fc.assert(fc.property(fc.string(), (text) => assert.equal(readMessageId(text), null)));
});

test("the IDs of an account's call notifications and of test messages are recognized, others are not", () => {
  const uuid = crypto.randomUUID();
  const ours = [makeCallNoticeId(7, 12), makeTestId(uuid)];
  const message = makeMessageId({ account_id: 7, campaign_id: 1, recipient_id: 1, dispatches: 1 });
  const others = [makeCallNoticeId(8, 12), "call.7", "call.7.12.1", "test.", `test.${uuid}.1`];
  for (const text of ours) assert.equal(isNoticeOrTest(7, text), true, text);
  for (const text of [message, ...others]) assert.equal(isNoticeOrTest(7, text), false, text);
});
