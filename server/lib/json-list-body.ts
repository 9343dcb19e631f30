// Parses a JSON body that is mostly one long list, entry by entry: parsing it whole would need many times its
// size, and a hostile body could exhaust memory.
import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { closestName } from "./closest-name.ts";
import { invalid, invalidField, type FieldError } from "./errors.ts";
import { depth_max, malformed, parseJsonBody, parseJsonText, tooDeep } from "./json-body.ts";

/** Receives the entries. */
export type ListReader = {
  /** Starts a list; entries so far belong to an earlier field of the same name, of which the last counts. */
  begin(): void;
  /** Receives one unparsed entry, for `parseJsonText`. */
  entry(json: Buffer, index: number): void;
};

/** Limit of the body without the list, and of a list that cannot be located. */
const rest_bytes_max = 65_536;
/** Replaces the list in the rest; unguessable. */
const place = randomUUID();

/**
 * Parses a body like parseJsonBody, but passes the entries of the list in field `name` to `reader`. Returns the
 * body with `place_of_list` in that field. Any other value of the field (not a list, or under an escaped
 * name) is part of the rest, whose size is limited.
 */
export function parseListBody(body: Buffer, name: string, reader: ListReader): unknown {
  if (body.length === 0) throw malformed("the body is empty");
  if (!isUtf8(body)) throw malformed("the body is not UTF-8");
  const list = findList(body, name, reader);
  const rest = list
    ? [body.subarray(0, list.start), Buffer.from(`"${place}"`), body.subarray(list.end)]
    : [body];
  if (rest.reduce((sum, { length }) => sum + length, 0) > rest_bytes_max) {
    const errors = largeFields(Buffer.concat(rest), name);
    if (errors.length > 0) throw invalid(errors);
    throw invalidField("body", `has more than ${rest_bytes_max / 1_024} kB beside its ${name}`);
  }
  return parseJsonBody(Buffer.concat(rest));
}

/** Returns the fields of the outermost object that alone exceed the limit, such as a list under a misspelled name. */
function largeFields(rest: Buffer, name: string): FieldError[] {
  const errors: FieldError[] = [];
  let depth = 0;
  let begin = 0;
  const endField = (end: number) => {
    const key = end - begin > rest_bytes_max ? keyOf(rest.subarray(begin, end)) : null;
    if (key !== null) errors.push({ field: key || "body", reason: reasonOf(key, name) });
    begin = end + 1;
  };
  for (let at = 0; at < rest.length; at++) {
    const byte = rest[at]!;
    if (byte === code.quote) at = endOfText(rest, at);
    else if (byte === code.openList || byte === code.openObject) {
      if (depth++ === 0) begin = at + 1;
    } else if (byte === code.closeList || byte === code.closeObject) {
      if (--depth === 0) endField(at);
    } else if (byte === code.comma && depth === 1) endField(at);
  }
  return errors;
}

/** Returns the key of a field; null if the bytes are not a field. */
function keyOf(field: Buffer): string | null {
  const start = field.findIndex((byte) => !isBlankByte(byte));
  if (field[start] !== code.quote) return null;
  const end = endOfText(field, start);
  const colon = field.findIndex((byte, at) => at > end && !isBlankByte(byte));
  if (field[colon] !== code.colon) return null;
  return parseJsonText(field.toString("utf8", start, end + 1)) as string;
}

function reasonOf(key: string, name: string): string {
  if (key === name) return "must be an array";
  const limit = `has more than ${rest_bytes_max / 1_024} kB`;
  return closestName(key, [name]) === null ? limit : `unknown field; did you mean ${name}?`;
}

/** The value of the list's field in the rest of a body. */
export const place_of_list: unknown = place;

const code = {
  quote: 34,
  comma: 44,
  colon: 58,
  openList: 91,
  backslash: 92,
  closeList: 93,
  openObject: 123,
  closeObject: 125,
} as const;

/**
 * Finds the last list in a field `name` of the outermost object and passes on its entries. Only counts
 * brackets: mismatches are found when the parts are parsed.
 */
function findList(
  body: Buffer,
  name: string,
  reader: ListReader,
): { readonly start: number; readonly end: number } | null {
  const key = Buffer.from(JSON.stringify(name));
  let found: { start: number; end: number } | null = null;
  let depth = 0;
  let open = false;
  let begin = 0;
  let index = 0;
  const endEntry = (at: number, last: boolean) => {
    const entry = body.subarray(begin, at);
    begin = at + 1;
    if (last && index === 0 && isBlank(entry)) return;
    reader.entry(entry, index++);
  };
  for (let at = 0; at < body.length; at++) {
    switch (body[at]!) {
      case code.quote:
        at = endOfText(body, at);
        break;
      case code.openList:
      case code.openObject:
        if (depth === 1 && body[at] === code.openList && isAfterKey(body, at, key)) {
          open = true;
          found = { start: at, end: body.length };
          begin = at + 1;
          index = 0;
          reader.begin();
        }
        if (++depth > depth_max) throw tooDeep();
        break;
      case code.closeList:
      case code.closeObject:
        depth--;
        if (!open || depth !== 1) break;
        if (body[at] !== code.closeList) throw malformed("a list ends as an object");
        endEntry(at, true);
        open = false;
        found!.end = at + 1;
        break;
      case code.comma:
        if (open && depth === 2) endEntry(at, false);
        break;
    }
  }
  if (open) throw malformed("the body ends within a list");
  return found;
}

/** Returns the position of the quote that ends the text at `at`, or of the body's last byte. */
function endOfText(body: Buffer, at: number): number {
  for (let i = at + 1; i < body.length; i++) {
    if (body[i] === code.backslash) i++;
    else if (body[i] === code.quote) return i;
  }
  return body.length;
}

function isAfterKey(body: Buffer, at: number, key: Buffer): boolean {
  const colon = skipBlanksBack(body, at - 1);
  if (body[colon] !== code.colon) return false;
  const end = skipBlanksBack(body, colon - 1) + 1;
  const start = end - key.length;
  // A quote after a backslash does not begin the key.
  return start > 0 && body[start - 1] !== code.backslash && key.equals(body.subarray(start, end));
}

function skipBlanksBack(body: Buffer, from: number): number {
  let at = from;
  while (at >= 0 && isBlankByte(body[at]!)) at--;
  return at;
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every(isBlankByte);
}

function isBlankByte(byte: number): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}
