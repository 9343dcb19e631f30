import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { zoneOffset } from "../../lib/parse-time.ts";
import { quietUntil } from "./quiet-time.ts";

const minute_ms = 60_000;
const day_ms = 86_400_000;

const until = (time_zone: string, from: string, to: string, now: string): string | null =>
  quietUntil({ time_zone, chat_quiet_from: from, chat_quiet_to: to }, new Date(now))
    ?.toISOString()
    .replace(":00.000Z", "Z") ?? null;

test("quiet time ends at its configured end, within a day and across midnight, and its end is not quiet", () => {
  assert.equal(until("UTC", "12:00", "14:00", "2026-05-01T12:00:00Z"), "2026-05-01T14:00Z");
  assert.equal(until("UTC", "12:00", "14:00", "2026-05-01T14:00:00Z"), null);
  assert.equal(until("UTC", "12:00", "14:00", "2026-05-01T11:59:59.999Z"), null);
  assert.equal(until("UTC", "22:00", "08:00", "2026-05-01T23:30:00Z"), "2026-05-02T08:00Z");
  assert.equal(until("UTC", "22:00", "08:00", "2026-05-02T07:59:59.999Z"), "2026-05-02T08:00Z");
  assert.equal(until("UTC", "22:00:00", "08:00:00", "2026-05-02T08:00:00Z"), null);
  assert.equal(until("UTC", "22:00", "00:00", "2026-05-01T23:30:00Z"), "2026-05-02T00:00Z");
  assert.equal(
    until("Asia/Kolkata", "21:00", "09:00", "2026-05-01T16:00:00Z"),
    "2026-05-02T03:30Z",
  );
});

test("an account without quiet times is never quiet", () => {
  const off = { time_zone: "UTC", chat_quiet_from: null, chat_quiet_to: null };
  assert.equal(quietUntil(off, new Date("2026-05-01T03:00:00Z")), null);
});

test("an end that clocks skip is at the skip; one that they repeat occurs twice", () => {
  // Berlin: 02:00 becomes 03:00 at 01:00Z on 29 March, and 03:00 becomes 02:00 at 01:00Z on 25 October.
  const zone = "Europe/Berlin";
  assert.equal(until(zone, "22:00", "02:30", "2026-03-29T00:30:00Z"), "2026-03-29T01:00Z");
  assert.equal(until(zone, "22:00", "08:00", "2026-03-28T22:00:00Z"), "2026-03-29T06:00Z");
  assert.equal(until(zone, "22:00", "02:30", "2026-10-24T23:30:00Z"), "2026-10-25T00:30Z");
  assert.equal(until(zone, "22:00", "02:30", "2026-10-25T00:45:00Z"), null);
  assert.equal(until(zone, "22:00", "02:30", "2026-10-25T01:00:00Z"), "2026-10-25T01:30Z");
  assert.equal(until(zone, "22:00", "03:00", "2026-10-24T23:30:00Z"), "2026-10-25T02:00Z");
  // All that would not be quiet is skipped.
  assert.equal(until(zone, "03:00", "02:00", "2026-03-29T00:30:00Z"), "2026-03-30T00:00Z");
});

const zones = [
  "UTC",
  "Asia/Kolkata",
  "Europe/Berlin",
  "America/New_York",
  "America/Santiago",
  "Australia/Lord_Howe",
  "Africa/Casablanca",
  "Africa/Cairo",
  "Antarctica/Troll",
  "Pacific/Apia",
];

/** Days on which the zone's offset changes, of three years; Apia skipped a day in the first. */
function daysOfChange(zone: string): number[] {
  const days = [2011, 2025, 2026].flatMap((year) =>
    Array.from({ length: 365 }, (_, day) => Date.UTC(year, 0, 1 + day)),
  );
  return days.filter((at) => zoneOffset(zone, at) !== zoneOffset(zone, at + day_ms));
}

const daysOfZones = zones.map(
  (zone) => [zone, [Date.UTC(2026, 6, 1), ...daysOfChange(zone)]] as const,
);

const wallClocks = new Map(
  zones.map((timeZone) => [
    timeZone,
    new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" }),
  ]),
);

/** Compares wall-clock times only. */
function isQuiet(zone: string, from: string, to: string, at_ms: number): boolean {
  const shown = wallClocks.get(zone)!.format(at_ms);
  return from < to ? shown >= from && shown < to : shown >= from || shown < to;
}

const timeOfDay = fc
  .integer({ min: 0, max: 287 })
  .map((fives) =>
    [Math.floor(fives / 12), (fives % 12) * 5].map((n) => String(n).padStart(2, "0")).join(":"),
  );

const instant = fc
  .constantFrom(...daysOfZones)
  .chain(([zone, days]) =>
    fc.tuple(
      fc.constant(zone),
      fc.constantFrom(...days),
      fc.integer({ min: -30 * 60 * minute_ms, max: 54 * 60 * minute_ms }),
    ),
  );

test("in every zone and across clock changes, the wall clock is in quiet time until the returned end, and not at it", () => {
  fc.assert(
    fc.property(instant, timeOfDay, timeOfDay, ([zone, day_at, offset_ms], from, to) => {
      fc.pre(from !== to);
      const now = day_at + offset_ms;
      const settings = { time_zone: zone, chat_quiet_from: from, chat_quiet_to: to };
      const end = quietUntil(settings, new Date(now))?.getTime() ?? null;
      if (!isQuiet(zone, from, to, now)) return assert.equal(end, null);
      assert.ok(end !== null && end > now);
      assert.equal(isQuiet(zone, from, to, end), false);
      assert.equal(isQuiet(zone, from, to, end - 1), true);
      // Changes of offset and ends of quiet times are all on fives of minutes here.
      for (let at = now; at < end; at += 5 * minute_ms) {
        assert.ok(isQuiet(zone, from, to, at), new Date(at).toISOString());
      }
    }),
    { numRuns: 400 },
  );
});
