// The position in a person's timeline: where each source stopped, so that no entry is skipped or repeated,
// whatever the order of equal times.
import { invalidField } from "../../lib/errors.ts";

/** The last entry taken from a source: its time in microseconds, and its ID. The next ones are before it. */
export type Position = readonly [at_us: number, id: number];

/** Before every entry: in the year 2243, with the largest ID. */
const the_start: Position = [8_640_000_000_000_000, Number.MAX_SAFE_INTEGER];

/** Returns the positions of `count` sources at the newest entry. */
export function startPositions(count: number): Position[] {
  return Array.from({ length: count }, () => the_start);
}

/** Encodes positions as an opaque cursor. */
export function encodePositions(positions: readonly Position[]): string {
  return positions.map(([at_us, id]) => `${at_us.toString(36)}.${id.toString(36)}`).join("-");
}

/** Returns the positions in a cursor; 422 on `cursor` if it is invalid. */
export function decodePositions(cursor: string, count: number): Position[] {
  const positions = cursor.split("-").map((text): Position => {
    const [at_us, id] = text.split(".").map((part) => Number.parseInt(part, 36));
    return [at_us ?? Number.NaN, id ?? Number.NaN];
  });
  const is_known =
    positions.length === count && positions.flat().every((part) => Number.isSafeInteger(part));
  if (!is_known || encodePositions(positions) !== cursor) {
    throw invalidField("cursor", "must be a next cursor of this list");
  }
  return positions;
}
