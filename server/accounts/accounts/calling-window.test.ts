import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { zoneOffset } from "../../lib/parse-time.ts";
import {
  callableFor,
  callableFrom,
  customerCallableFrom,
  mayCallAt,
  mayCallCustomerAt,
  type CallingWindow,
} from "./calling-window.ts";

const minute_ms = 60_000;
const day_ms = 86_400_000;

const windowOf = (
  time_zone: string,
  calling_from: string,
  calling_to: string,
  night_calling = false,
): CallingWindow => ({ time_zone, night_calling, calling_from, calling_to });

const may = (window: CallingWindow, at: string) => mayCallAt(window, new Date(at));
const from = (window: CallingWindow, at: string) =>
  callableFrom(window, new Date(at))?.toISOString().replace(":00.000Z", "Z") ?? null;

test("the window includes its start and excludes its end", () => {
  const window = windowOf("UTC", "09:00:00", "21:00:00");
  assert.equal(may(window, "2026-05-01T08:59:59.999Z"), false);
  assert.equal(may(window, "2026-05-01T09:00:00Z"), true);
  assert.equal(may(window, "2026-05-01T20:59:59.999Z"), true);
  assert.equal(may(window, "2026-05-01T21:00:00Z"), false);
  assert.equal(from(window, "2026-05-01T21:00:00Z"), "2026-05-02T09:00Z");
  assert.equal(from(window, "2026-05-01T08:59:59.999Z"), "2026-05-01T09:00Z");
  assert.equal(from(window, "2026-05-01T12:34:00Z"), "2026-05-01T12:34Z");
});

test("a window that ends before it starts crosses midnight", () => {
  const window = windowOf("UTC", "22:00", "06:00");
  assert.equal(may(window, "2026-05-01T21:59:00Z"), false);
  assert.equal(may(window, "2026-05-01T22:00:00Z"), true);
  assert.equal(may(window, "2026-05-02T05:59:00Z"), true);
  assert.equal(from(window, "2026-05-02T06:00:00Z"), "2026-05-02T22:00Z");
});

test("24:00 is the end of the day: 00:00 to 24:00 is always, and from 24:00 on is never", () => {
  assert.equal(may(windowOf("UTC", "09:00", "24:00"), "2026-05-01T23:59:59.999Z"), true);
  assert.equal(may(windowOf("UTC", "09:00", "24:00"), "2026-05-02T00:00:00Z"), false);
  for (const hour of ["00:00", "12:00", "23:59"]) {
    assert.equal(may(windowOf("UTC", "00:00", "24:00"), `2026-05-01T${hour}:00Z`), true);
    assert.equal(may(windowOf("UTC", "24:00", "24:00"), `2026-05-01T${hour}:00Z`), false);
    assert.equal(may(windowOf("UTC", "24:00", "00:00"), `2026-05-01T${hour}:00Z`), false);
  }
});

test("a window whose start equals its end is never, and night calling allows any time", () => {
  const never = windowOf("UTC", "09:00", "09:00");
  assert.equal(may(never, "2026-05-01T09:00:00Z"), false);
  assert.equal(from(never, "2026-05-01T09:00:00Z"), null);
  const night = windowOf("UTC", "09:00", "09:00", true);
  assert.equal(may(night, "2026-05-01T03:00:00Z"), true);
  assert.equal(from(night, "2026-05-01T03:00:00Z"), "2026-05-01T03:00Z");
});

test("uses the account's time zone, including on days on which clocks change", () => {
  assert.equal(may(windowOf("Asia/Kolkata", "09:00", "21:00"), "2026-05-01T03:30:00Z"), true);
  assert.equal(may(windowOf("Asia/Kolkata", "09:00", "21:00"), "2026-05-01T03:29:00Z"), false);
  // Berlin: 02:00 becomes 03:00 at 01:00Z on 29 March, and 03:00 becomes 02:00 at 01:00Z on 25 October.
  const zone = "Europe/Berlin";
  assert.equal(from(windowOf(zone, "02:30", "05:00"), "2026-03-29T00:30:00Z"), "2026-03-29T01:00Z");
  assert.equal(from(windowOf(zone, "02:00", "03:00"), "2026-03-29T00:30:00Z"), "2026-03-30T00:00Z");
  assert.equal(from(windowOf(zone, "02:30", "03:00"), "2026-10-25T00:00:00Z"), "2026-10-25T00:30Z");
  assert.equal(from(windowOf(zone, "02:30", "03:00"), "2026-10-25T01:00:00Z"), "2026-10-25T01:30Z");
});

const zones = [
  "UTC",
  "Asia/Kolkata",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Africa/Cairo",
  "Antarctica/Troll",
];

/** Days on which the zone's offset changes, and one on which it does not. */
const daysOfZones = zones.map((zone) => {
  const days = Array.from({ length: 365 }, (_, day) => Date.UTC(2026, 0, 1 + day));
  const changes = days.filter((at) => zoneOffset(zone, at) !== zoneOffset(zone, at + day_ms));
  return [zone, [Date.UTC(2026, 6, 1), ...changes]] as const;
});

const wallClocks = new Map(
  zones.map((timeZone) => [
    timeZone,
    new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" }),
  ]),
);

/** Compares wall-clock times only. */
function isOpen({ time_zone, calling_from, calling_to }: CallingWindow, at_ms: number): boolean {
  const shown = wallClocks.get(time_zone)!.format(at_ms);
  if (calling_from < calling_to) return shown >= calling_from && shown < calling_to;
  return calling_from !== calling_to && (shown >= calling_from || shown < calling_to);
}

const timeOfDay = fc
  .integer({ min: 0, max: 288 })
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

test("in every zone and across clock changes, calls may be placed when the wall clock is within the window, from its first instant on", () => {
  fc.assert(
    fc.property(instant, timeOfDay, timeOfDay, ([zone, day_at, offset_ms], begins, ends) => {
      // 24:00 as a beginning has an example above.
      fc.pre(begins !== "24:00");
      const window = windowOf(zone, begins, ends);
      const now = day_at + offset_ms;
      assert.equal(mayCallAt(window, new Date(now)), isOpen(window, now));
      const next = callableFrom(window, new Date(now))?.getTime() ?? null;
      if (begins === ends) return assert.equal(next, null);
      assert.ok(next !== null && next >= now);
      assert.equal(isOpen(window, next), true);
      // Changes of offset and ends of windows are all on fives of minutes here.
      for (let at = now; at < next; at += 5 * minute_ms) {
        assert.equal(isOpen(window, at), false, new Date(at).toISOString());
      }
      if (next > now) assert.equal(isOpen(window, next - 1), false);
    }),
    { numRuns: 400 },
  );
});

test("calling time adds up over days and across clock changes, and returns null for a window that is never", () => {
  const until = (window: CallingWindow, at: string, length_ms: number) =>
    callableFor(window, [], new Date(at), length_ms)?.toISOString() ?? null;
  const window = windowOf("Europe/Berlin", "01:00", "03:00");
  assert.equal(until(window, "2026-03-28T00:30:00Z", 30 * minute_ms), "2026-03-28T01:00:00.000Z");
  // Of the night of the 29th, clocks skip the second hour.
  assert.equal(until(window, "2026-03-28T01:00:00Z", 150 * minute_ms), "2026-03-29T23:30:00.000Z");
  const always = windowOf("UTC", "00:00", "24:00");
  assert.equal(until(always, "2026-03-28T00:00:00Z", 3 * day_ms), "2026-03-31T00:00:00.000Z");
  const never = windowOf("UTC", "09:00", "09:00");
  assert.equal(until(never, "2026-03-28T00:00:00Z", 1), null);
  assert.equal(until(window, "2026-03-28T00:00:00Z", 366 * 2 * 60 * minute_ms), null);
});

test("a customer is called only while the window is open by the account's clock and in every zone the customer may be in", () => {
  const window = windowOf("Asia/Kolkata", "09:00", "21:00");
  const mayIn = (of: string[], at: string) => mayCallCustomerAt(window, of, new Date(at));
  const fromIn = (of: string[], at: string) =>
    customerCallableFrom(window, of, new Date(at))?.toISOString().replace(":00.000Z", "Z") ?? null;
  const san_francisco = ["America/Los_Angeles"];
  // 17:30 in Kolkata is 05:00 in San Francisco; 08:30 in Kolkata is 20:00 there.
  assert.equal(mayIn(san_francisco, "2026-05-01T12:00:00Z"), false);
  assert.equal(mayIn(san_francisco, "2026-05-01T03:00:00Z"), false);
  assert.equal(mayIn(san_francisco, "2026-05-01T03:45:00Z"), true);
  assert.equal(fromIn(san_francisco, "2026-05-01T12:00:00Z"), "2026-05-02T03:30Z");
  assert.equal(fromIn(san_francisco, "2026-05-01T03:45:00Z"), "2026-05-01T03:45Z");
  // Half an hour a day.
  const until = callableFor(
    window,
    san_francisco,
    new Date("2026-05-01T12:00:00Z"),
    40 * minute_ms,
  );
  assert.equal(until?.toISOString(), "2026-05-03T03:40:00.000Z");
  const either = ["Australia/Perth", "Australia/Sydney"];
  assert.equal(mayIn(either, "2026-05-01T03:30:00Z"), true);
  assert.equal(mayIn(either, "2026-05-01T11:30:00Z"), false, "21:30 in Sydney");
  assert.equal(mayIn([], "2026-05-01T12:00:00Z"), true);
});

test("zones whose windows are never open at once are never callable, and night calling allows any time", () => {
  const day = new Date("2026-05-01T12:00:00Z");
  const apart = ["Pacific/Auckland", "America/New_York"];
  const office = windowOf("UTC", "09:00", "13:00");
  assert.equal(customerCallableFrom(office, apart, day), null);
  assert.equal(customerCallableFrom({ ...office, night_calling: true }, apart, day), day);
  assert.equal(mayCallCustomerAt({ ...office, night_calling: true }, apart, day), true);
});
