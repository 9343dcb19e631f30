// Receives a multipart upload, its parts in any order. The file is written to a temporary file.
import type { FileHandle } from "node:fs/promises";
import type { Multipart } from "@fastify/multipart";
import type { FastifyRequest } from "fastify";
import { closestName } from "../../lib/closest-name.ts";
import { Refusal, invalid, unavailable, type FieldError } from "../../lib/errors.ts";
import { unstorable } from "../../lib/json-body.ts";
import { openShares } from "../../lib/shares.ts";
import { openSlots } from "../../lib/slots.ts";
import { openBodyBudget, type HeldBody } from "./body-budget.ts";
import { cutOff } from "./cut-off.ts";
import { counted, isOutOfSpace, openTemporary } from "./spool-file.ts";

/** The largest file, in bytes, unless the route sets a lower limit. */
const file_bytes_max = 256 * 1_048_576;
const field_bytes_max = 65_536;
const uploads_of_account_max = 3;
const uploads_of_account_waiting_max = 16;
/** Bounds the uploads of one account: more wait, unread, until one of these is answered. */
const ofAccounts = openShares(
  Number.POSITIVE_INFINITY,
  uploads_of_account_max,
  uploads_of_account_waiting_max,
);
/** Bounds the temporary space of a process. */
const arrivals = openBodyBudget({ bodies_max: 1_000, bytes_max: 8 * file_bytes_max });
/** Uploads but CSV files that are processed at once: an upload takes its slot when it has arrived. */
const processing = openSlots(8, Number.POSITIVE_INFINITY);

export type Upload = {
  /** The fields that arrived and are valid. */
  readonly fields: ReadonlyMap<string, string>;
  readonly file: { readonly fd: number; readonly name: string } | null;
  /** What is wrong with the parts; empty unless the route collects them. */
  readonly violations: readonly FieldError[];
};

/**
 * Receives the whole upload, then passes it to `use`; the file stays open until that ends. Refuses unknown,
 * repeated and wrong parts (422, all at once), a file beyond 256 MB or `file_bytes_max` and fields beyond
 * `fields_bytes_max` (413), a body that is not multipart (415), and one that breaks off (400).
 */
export async function receiveUpload<Answer>(
  accountId: number,
  request: FastifyRequest,
  expected: ExpectedParts,
  use: (upload: Upload) => Promise<Answer>,
): Promise<Answer> {
  return ofAccounts.use(accountId, () => receiveNext(accountId, request, expected, use));
}

async function receiveNext<Answer>(
  accountId: number,
  request: FastifyRequest,
  expected: ExpectedParts,
  use: (upload: Upload) => Promise<Answer>,
): Promise<Answer> {
  const held = arrivals.open(String(accountId), (why) => cutOff(request, why));
  try {
    const handle = await openTemporary();
    try {
      const upload = await receive(request, expected, { handle, held });
      held.arrived();
      // It would keep its slot while it waits for csvParsing, which limits how many are parsed at once.
      if (expected.is_csv && upload.file !== null) return await use(upload);
      return await processing.use(() => use(upload));
    } finally {
      await handle.close();
    }
  } finally {
    held.release();
    // A body may go on after its last part, and the next request of the connection waits behind it.
    request.raw.unpipe();
    request.raw.resume();
  }
}

/** The parts that an upload may have. */
export type ExpectedParts = {
  readonly file: string;
  readonly fields: readonly string[];
  readonly file_bytes_max?: number;
  /** The limit of each field, and of all together; 64 kB for each field by default. */
  readonly fields_bytes_max?: number;
  /** The upload carries the violations of its parts, for the route to add its own. */
  readonly collects_violations?: true;
  /** The route parses the file within csvParsing. */
  readonly is_csv?: true;
};

async function receive(
  request: FastifyRequest,
  expected: ExpectedParts,
  { handle, held }: { readonly handle: FileHandle; readonly held: HeldBody },
): Promise<Upload> {
  const violations: FieldError[] = [];
  const fields = new Map<string, string>();
  let file: Upload["file"] = null;
  const bytes_max = expected.file_bytes_max ?? file_bytes_max;
  const fieldSize = expected.fields_bytes_max ?? field_bytes_max;
  let field_characters = 0;
  try {
    // The parser would wait forever for a body whose client is gone.
    if (request.raw.destroyed && !request.raw.readableEnded)
      throw new Error("the client disconnected before its body was read");
    const limits = { files: 4, fields: 20, fileSize: bytes_max, fieldSize };
    for await (const part of request.parts({ limits })) {
      const name = part.fieldname as string | undefined;
      if (name === undefined) {
        violations.push({ field: "body", reason: "has a part without a name" });
        if (part.type === "file") part.file.resume();
        continue;
      }
      const seen = part.fieldname === expected.file ? file !== null : fields.has(part.fieldname);
      const reason = reasonToReject(part, expected, seen);
      if (reason !== null) violations.push({ field: part.fieldname, reason });
      if (part.type === "field") {
        const { length } = textOf(part.value);
        held.add(length);
        field_characters += length;
        if (expected.fields_bytes_max && field_characters > fieldSize)
          throw tooLarge("form", fieldSize);
        if (reason === null) fields.set(part.fieldname, textOf(part.value));
      } else if (reason === null) {
        // Not through a stream on the descriptor: one that is destroyed closes it, whatever autoClose says.
        await handle.writeFile(counted(part.file, held));
        if (part.file.truncated) throw tooLarge("file", bytes_max);
        file = { fd: handle.fd, name: part.filename };
      } else part.file.resume();
    }
  } catch (error) {
    throw refusalOf(error, bytes_max);
  }
  if (violations.length > 0 && !expected.collects_violations) throw invalid(violations);
  return { fields, file, violations };
}

function reasonToReject(part: Multipart, expected: ExpectedParts, seen: boolean): string | null {
  const name = part.fieldname;
  const isExpected = name === expected.file || expected.fields.includes(name);
  if (!isExpected) {
    if (part.type === "file") return `unknown field; send the file as ${expected.file}`;
    const known = [expected.file, ...expected.fields];
    const suggestion = closestName(name, known);
    return suggestion
      ? `unknown field; did you mean ${suggestion}?`
      : `unknown field; the form has ${known.join(", ")}`;
  }
  if (seen) return "must be sent only once";
  if (name === expected.file) return part.type === "file" ? null : "must be a file";
  if (part.type === "file") return "must not be a file";
  if (part.valueTruncated) return "is too long";
  return unstorable(textOf(part.value));
}

/** The plugin parses a part whose type is application/json. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function tooLarge(part: "file" | "form", bytes_max: number): Refusal {
  return new Refusal("body-too-large", `The ${part} is larger than ${bytes_max / 1_048_576} MB`);
}

/** Translates the errors of the multipart plugin, its parser and the disk. */
function refusalOf(error: unknown, bytes_max: number): unknown {
  if (error instanceof Refusal) return error;
  const code = (error as { code?: string }).code ?? "";
  if (code === "FST_REQ_FILE_TOO_LARGE") return tooLarge("file", bytes_max);
  if (code === "FST_INVALID_MULTIPART_CONTENT_TYPE") return error;
  if (/^FST_(?:PARTS|FILES|FIELDS)_LIMIT$/.test(code)) {
    return new Refusal("body-too-large", "The body has too many parts");
  }
  if (isOutOfSpace(error)) return unavailable(error);
  return new Refusal("bad-request", "The multipart body could not be read", { cause: error });
}
