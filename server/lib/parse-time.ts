// The only parser of external times.
import { LRUCache } from "lru-cache";

const form =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:([Zz])|([+-])(\d{2}):?(\d{2}))?$/;
const day_ms = 86_400_000;
const latest_ms = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * Parses a time, or returns the reason why it is invalid, to follow a field's name. Takes
 * `2026-01-31T09:30:00.250+05:30` with T or a space, optional seconds and fraction (truncated to milliseconds),
 * and Z, ±hh:mm or ±hhmm. Without an offset it is local time in `timeZone` (IANA, see isTimeZone): a local
 * time that occurs twice is the first one, and one that clocks skip is moved forward by the gap.
 */
export function parseTime(text: string, timeZone: string): Date | string {
  const match = form.exec(text);
  if (!match) return "must be a time such as 2026-01-31T09:30:00Z";
  const [, year, month, day, hour, minute, second = "0", fraction = "", utc, sign] = match;
  if (Number(year) < 1970) return "must be a time from 1970 on";
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59)
    return "must be a time of day from 00:00:00 to 23:59:59";
  const midnight = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  // Date would convert 30 February to a day in March.
  if (!midnight.toISOString().startsWith(`${year}-${month}-${day}`))
    return "must be a date that exists";
  const local = new Date(
    midnight.getTime() +
      Number(hour) * 3_600_000 +
      Number(minute) * 60_000 +
      Number(second) * 1_000 +
      Number(fraction.padEnd(3, "0").slice(0, 3)),
  );
  if (utc) return local;
  if (!sign) return withinBounds(inZone(local, timeZone));
  const [hours, minutes] = [Number(match[10]), Number(match[11])];
  if (hours > 18 || minutes > 59) return "must have an offset from -18:00 to +18:00";
  const offset_ms = (sign === "-" ? -1 : 1) * (hours * 60 + minutes) * 60_000;
  return withinBounds(new Date(local.getTime() - offset_ms));
}

/** Refuses a time that its offset carries into the year 10000: few programs read its ISO text, +010000-01-01. */
function withinBounds(time: Date): Date | string {
  return time.getTime() > latest_ms ? "must be a time before the year 10000 in UTC" : time;
}

/** Parses a time for a filter: a day, `2026-01-31`, means the midnight at its start. */
export function parseTimeOrDay(text: string, timeZone: string): Date | string {
  return parseTime(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00` : text, timeZone);
}

/**
 * Reports whether `name` is a time zone of the IANA database, such as Asia/Kolkata or UTC. Abbreviations are none: IST is
 * India's for Node.js and Israel's for PostgreSQL.
 */
export function isTimeZone(name: string): boolean {
  // Intl also takes offsets (+05:30), which are not time zones.
  if (!/^([A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)+|UTC|GMT)$/.test(name)) return false;
  try {
    zoneFormat(name);
    return true;
  } catch {
    return false;
  }
}

/** Converts local time; `local` holds the wall clock's values as if they were UTC. */
function inZone(local: Date, timeZone: string): Date {
  const wall_ms = local.getTime();
  // No zone changes its offset twice within two days, so one of these two offsets applies.
  const before_ms = zoneOffset(timeZone, wall_ms - day_ms);
  const after_ms = zoneOffset(timeZone, wall_ms + day_ms);
  const instants = [before_ms, after_ms]
    .map((offset_ms) => wall_ms - offset_ms)
    .filter((instant_ms) => wall_ms - instant_ms === zoneOffset(timeZone, instant_ms));
  return new Date(instants.length > 0 ? Math.min(...instants) : wall_ms - before_ms);
}

/** Returns how far the zone's wall clock is ahead of UTC at an instant, in milliseconds. */
export function zoneOffset(timeZone: string, instant_ms: number): number {
  const whole_ms = Math.floor(instant_ms / 1_000) * 1_000;
  const parts = new Map(
    zoneFormat(timeZone)
      .formatToParts(whole_ms)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  const wall_ms = Date.UTC(
    part("year"),
    part("month") - 1,
    part("day"),
    part("hour"),
    part("minute"),
    part("second"),
  );
  return wall_ms - whole_ms;
}

/** More than the number of zones, because spellings in another case count too. */
const formats = new LRUCache<string, Intl.DateTimeFormat>({ max: 2_000 });

/** Returns a cached format; creating one costs a thousand times its use. Throws RangeError for an unknown zone. */
function zoneFormat(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const made = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  formats.set(timeZone, made);
  return made;
}
