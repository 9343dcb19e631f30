import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import type { Ending } from "../driver.ts";
import { findCdrs } from "./find-cdrs.ts";

const dir = mkdtempSync(join(tmpdir(), "trunkline-records-"));
after(() => rmSync(dir, { recursive: true }));
const path = join(dir, "calls.csv");

/** A line in the format of asterisk/etc/cdr_custom.conf. */
function line(leg: string, more: { answer?: string; cause?: number; said?: string } = {}): string {
  const { answer = "0.000000", cause = 16, said = "" } = more;
  const times = `1795296735.500000,${answer},1795296769.750000,0.000000`;
  return `"${leg}",${times},"NO ANSWER","${cause}","${said}","trk-1-1"\n`;
}

/** Returns the CDR of one channel, null if it has none. */
async function findCdr(channel: string) {
  const found = await findCdrs(path, [channel]);
  assert.ok(found !== "unreadable");
  return found.get(channel) ?? null;
}

async function endingOf(more: Parameters<typeof line>[1]): Promise<Ending> {
  writeFileSync(path, line("trk-1-1-1", more));
  const record = await findCdr("trk-1-1-1");
  assert.ok(record);
  assert.deepEqual(record.ended_at, new Date(1_795_296_769_750));
  return record.ending;
}

test("a CDR has the times of answer and end", async () => {
  writeFileSync(path, line("trk-1-1-1", { answer: "1795296740.250000", said: "SIP 200 OK" }));
  assert.deepEqual(await findCdr("trk-1-1-1"), {
    answered_at: new Date(1_795_296_740_250),
    ended_at: new Date(1_795_296_769_750),
    ending: { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" },
  });
});

test("a CDR gives the reason why a leg was not answered", async () => {
  const expected: [Parameters<typeof line>[1], Ending][] = [
    [
      { cause: 17, said: `SIP 486 Busy, ""so"" they say` },
      { outcome: "busy", cause: 17, sip_status: 486, by: "far_end" },
    ],
    [
      { cause: 19, said: "SIP 480 Temporarily Unavailable" },
      { outcome: "no_answer", cause: 19, sip_status: 480, by: "far_end" },
    ],
    [
      { cause: 19, said: "SIP 180 Ringing" },
      { outcome: "no_answer", cause: 19, sip_status: null, by: "far_end" },
    ],
    [
      { cause: 19, said: "SIP 100 Trying" },
      { outcome: "unreachable", cause: 19, sip_status: null, by: "far_end" },
    ],
    [{ cause: 19 }, { outcome: "unreachable", cause: 19, sip_status: null, by: "far_end" }],
    [{ cause: 18 }, { outcome: "unreachable", cause: 18, sip_status: 408, by: "far_end" }],
    [
      { cause: 18, said: "SIP 408 Request Timeout" },
      { outcome: "no_answer", cause: 18, sip_status: 408, by: "far_end" },
    ],
    [
      { cause: 16, said: "SIP 487 Request Terminated" },
      { outcome: "canceled", cause: 16, sip_status: 487, by: "us" },
    ],
    [
      { cause: 16, said: "SIP 180 Ringing" },
      { outcome: "canceled", cause: 16, sip_status: null, by: "us" },
    ],
  ];
  for (const [more, ending] of expected) assert.deepEqual(await endingOf(more), ending);
});

test("a leg has no CDR until its line is complete", async () => {
  writeFileSync(path, line("trk-1-1-10") + line("xtrk-1-1-1"));
  assert.equal(await findCdr("trk-1-1-1"), null);
  appendFileSync(path, line("trk-1-1-1").slice(0, -1));
  assert.equal(await findCdr("trk-1-1-1"), null);
  appendFileSync(path, "\n");
  assert.notEqual(await findCdr("trk-1-1-1"), null);
  writeFileSync(path, "");
  assert.equal(await findCdr("trk-1-1-1"), null);
});

test("a missing or invalid CDR file is unreadable", async () => {
  for (const invalid of [null, join(dir, "none.csv"), dir])
    assert.equal(await findCdrs(invalid, ["trk-1-1-1"]), "unreadable");
});

test("CDRs of many legs are found together at any position in a long file", async () => {
  const count = 12_000;
  const lines = Array.from({ length: count }, (_, at) =>
    line(`trk-2-${at}-1`, { cause: at % 100 }),
  );
  writeFileSync(path, lines.join(""));
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(count - 1)), async (wanted) => {
      const ids = wanted.map((at) => `trk-2-${at}-1`);
      const found = await findCdrs(path, ["trk-3-1-1", ...ids]);
      assert.ok(found !== "unreadable");
      assert.deepEqual(
        new Map(wanted.map((at) => [`trk-2-${at}-1`, at % 100])),
        new Map([...found].map(([id, { ending }]) => [id, ending.cause ?? 0])),
      );
    }),
  );
  assert.equal(await findCdr("trk-3-1-1"), null);
});
