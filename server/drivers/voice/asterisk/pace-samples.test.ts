import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import { openPacer } from "./pace-samples.ts";

const frame_bytes = 20 * bytes_per_ms;
/** Distinguishable bytes, none of them zero. */
const speech = (bytes: number, from = 0) =>
  Buffer.from(Array.from({ length: bytes }, (_, index) => 1 + ((from + index) % 250)));

test("written samples are sent completely, in order and in frames, at most 220 ms ahead", () => {
  const writes = fc.array(fc.record({ bytes: fc.nat(20_000), wait_ms: fc.nat(500) }), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(writes, (all) => {
      const pacer = openPacer();
      const sent: Buffer[] = [];
      let [now_ms, written, sent_ms] = [0, 0, 0];
      const tick = () => {
        const taken = pacer.take(now_ms);
        if (taken) {
          assert.equal(taken.length % frame_bytes, 0);
          sent.push(taken);
          sent_ms += taken.length / bytes_per_ms;
        }
        assert.ok(sent_ms <= now_ms + 220, `${sent_ms} ms were sent after ${now_ms}`);
        now_ms += 40;
      };
      for (const { bytes, wait_ms } of all) {
        pacer.write(speech(bytes, written));
        written += bytes;
        for (let left_ms = wait_ms; left_ms > 0; left_ms -= 40) tick();
      }
      while (pacer.queued_ms(now_ms) > 0) tick();
      // Incomplete frames are padded with zeros.
      const received = Buffer.concat(sent).filter((byte) => byte !== 0);
      assert.deepEqual(Buffer.from(received), speech(written));
    }),
  );
});

test("queued_ms is the length of the audio that is not played yet, and 0 after a flush", () => {
  const pacer = openPacer();
  pacer.write(speech(1_000 * bytes_per_ms));
  assert.equal(pacer.queued_ms(0), 1_000);
  assert.equal(pacer.take(0)?.length, 200 * bytes_per_ms);
  assert.equal(pacer.queued_ms(0), 1_000);
  assert.equal(pacer.take(0), null);
  assert.equal(pacer.queued_ms(150), 850);
  assert.equal(pacer.take(150)?.length, 160 * bytes_per_ms);
  pacer.flush(150);
  assert.equal(pacer.queued_ms(150), 0);
  assert.equal(pacer.take(150), null);
  pacer.write(speech(10 * bytes_per_ms));
  assert.equal(pacer.queued_ms(150), 10);
  assert.equal(pacer.take(150)?.length, frame_bytes);
});
