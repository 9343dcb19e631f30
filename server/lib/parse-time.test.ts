import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isTimeZone, parseTime } from "./parse-time.ts";

const iso = (text: string, timeZone = "UTC") => {
  const parsed = parseTime(text, timeZone);
  return typeof parsed === "string" ? parsed : parsed.toISOString();
};

/** Instants from 1970 to 2100. Beyond, zones only repeat their last rule. */
const instants = fc.integer({ min: 86_400_000, max: Date.UTC(2100, 0) }).map((ms) => new Date(ms));
const zones = fc.constantFrom(...Intl.supportedValuesOf("timeZone"), "Asia/Kolkata", "UTC");

test("every spelling of one instant is that instant", () => {
  for (const text of [
    "2026-03-04T10:15:30.250Z",
    "2026-03-04 10:15:30.250Z",
    "2026-03-04t10:15:30.25z",
    "2026-03-04T10:15:30.250999999Z",
    "2026-03-04T15:45:30.250+05:30",
    "2026-03-04T15:45:30.250+0530",
    "2026-03-04 05:15:30.250-05:00",
  ])
    assert.equal(iso(text), "2026-03-04T10:15:30.250Z", text);
  assert.equal(iso("2026-03-04T10:15+0000"), "2026-03-04T10:15:00.000Z");
  assert.equal(iso("2026-03-04 10:15", "Asia/Kolkata"), "2026-03-04T04:45:00.000Z");
});

test("refuses text that is not a time with a reason", () => {
  for (const text of [
    "",
    " ",
    "now",
    "1767225600",
    "2026-03-04",
    "2026-03-04T10",
    "2026-3-4T10:15:00Z",
    "2026-03-04T10:15:00 Z",
    "2026-03-04T10:15:00+05",
    "2026-03-04T10:15:00.Z",
    " 2026-03-04T10:15:00Z",
    "2026-03-04T10:15:00Z\n",
    "+002026-03-04T10:15:00Z",
    "２０２６-03-04T10:15:00Z",
  ])
    assert.equal(iso(text), "must be a time such as 2026-01-31T09:30:00Z", JSON.stringify(text));
  for (const text of [
    "2026-02-30T10:00Z",
    "2026-13-01T10:00Z",
    "2026-00-01T10:00Z",
    "2025-02-29 10:00",
  ])
    assert.equal(iso(text), "must be a date that exists", text);
  for (const text of ["2026-03-04T24:00Z", "2026-03-04T10:60Z", "2026-03-04T10:15:60Z"])
    assert.equal(iso(text), "must be a time of day from 00:00:00 to 23:59:59", text);
  for (const text of ["2026-03-04T10:15+19:00", "2026-03-04T10:15-0560"])
    assert.equal(iso(text), "must have an offset from -18:00 to +18:00", text);
  assert.equal(iso("0026-03-04T10:15Z"), "must be a time from 1970 on");
});

test("refuses a time that its offset carries into the year 10000", () => {
  const reason = "must be a time before the year 10000 in UTC";
  assert.equal(iso("9999-12-31T23:59:00-01:00"), reason);
  assert.equal(iso("9999-12-31T23:59:00", "America/New_York"), reason);
  for (const text of ["9999-12-31T23:59:59.999Z", "9999-12-31T22:59:59.999-01:00"])
    assert.equal(iso(text), "9999-12-31T23:59:59.999Z", text);
});

test("a local time that occurs twice is the first one", () => {
  // New York goes from EDT (-4) back to EST (-5) at 2026-11-01 06:00Z.
  assert.equal(iso("2026-11-01T01:30", "America/New_York"), "2026-11-01T05:30:00.000Z");
  assert.equal(iso("2026-11-01T02:00", "America/New_York"), "2026-11-01T07:00:00.000Z");
});

test("a local time that clocks skip is moved forward by the gap", () => {
  // New York skips 02:00 to 03:00 on 2026-03-08.
  assert.equal(iso("2026-03-08T02:30", "America/New_York"), "2026-03-08T07:30:00.000Z");
  assert.equal(iso("2026-03-08T01:59", "America/New_York"), "2026-03-08T06:59:00.000Z");
  // Lord Howe Island skips half an hour; Samoa skipped a whole day.
  assert.equal(iso("2026-10-04T02:15", "Australia/Lord_Howe"), "2026-10-03T15:45:00.000Z");
  assert.equal(iso("2011-12-30T12:00", "Pacific/Apia"), "2011-12-30T22:00:00.000Z");
});

test("any instant comes back from its ISO text and from any offset", () => {
  fc.assert(
    fc.property(
      instants,
      fc.integer({ min: -14 * 60, max: 14 * 60 }),
      fc.boolean(),
      (at, offset_minutes, colon) => {
        assert.equal(iso(at.toISOString()), at.toISOString());
        const wall = new Date(at.getTime() + offset_minutes * 60_000).toISOString().slice(0, -1);
        const [hours, minutes] = [
          Math.floor(Math.abs(offset_minutes) / 60),
          Math.abs(offset_minutes) % 60,
        ];
        const two = (value: number) => String(value).padStart(2, "0");
        const offset = `${offset_minutes < 0 ? "-" : "+"}${two(hours)}${colon ? ":" : ""}${two(minutes)}`;
        assert.equal(iso(`${wall}${offset}`, "Asia/Tokyo"), at.toISOString());
      },
    ),
  );
});

/** The wall clock of a zone as Intl shows it, in the form the parser takes. */
function wallClock(at: Date, timeZone: string): string {
  return new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    dateStyle: "short",
    timeStyle: "medium",
  }).format(at);
}

test("a local time of any zone names an instant at which that zone's clocks show it, the earliest one", () => {
  fc.assert(
    fc.property(instants, zones, (at, zone) => {
      const wall = wallClock(at, zone);
      const parsed = parseTime(wall, zone);
      assert.ok(parsed instanceof Date, `${wall} ${zone}: ${String(parsed)}`);
      assert.equal(wallClock(parsed, zone), wall, zone);
      assert.ok(parsed <= at, `${wall} ${zone}`);
    }),
    { numRuns: 2_000 },
  );
});

test("any text gives a date or a reason, and never throws", () => {
  const near = fc.stringMatching(
    /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$/,
  );
  fc.assert(
    fc.property(fc.oneof(fc.string(), near), zones, (text, zone) => {
      const parsed = parseTime(text, zone);
      if (parsed instanceof Date) assert.ok(Number.isFinite(parsed.getTime()));
      else assert.match(parsed, /^must /);
    }),
    { numRuns: 2_000 },
  );
});

test("a time zone is a name of the IANA database, and no abbreviation, which PostgreSQL may read as another one", () => {
  for (const name of ["UTC", "Asia/Kolkata", "America/Argentina/Buenos_Aires", "Etc/GMT+5"])
    assert.ok(isTimeZone(name), name);
  for (const name of [
    "",
    "IST",
    "CST",
    "IST+5",
    "+05:30",
    "Asia/Nowhere",
    "Asia/Kolkata ",
    "../etc/passwd",
  ])
    assert.ok(!isTimeZone(name), name);
});
