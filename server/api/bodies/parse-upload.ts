// Makes bodies of multipart uploads: the fields' texts become the values that JSON would have.
import { createHash } from "node:crypto";
import { read } from "node:fs";
import { promisify } from "node:util";
import type { TObject } from "typebox";
import { canonicalJson } from "../../lib/canonical-json.ts";
import { openSlots } from "../../lib/slots.ts";
import { receiveUpload, type ExpectedParts, type Upload } from "./receive-upload.ts";
import type { ParsedBody, UnparsedRequest } from "../route.ts";

/** Uploads that are hashed at once, also CSV files. */
const hashing = openSlots(8, Number.POSITIVE_INFINITY);

/** Receives an upload and makes a body of it; its file stays open until the body is released. */
export async function parseUpload<Body>(
  { caller, request }: UnparsedRequest,
  expected: ExpectedParts,
  bodyOf: (upload: Upload) => Body,
): Promise<ParsedBody<Body>> {
  const parsed = Promise.withResolvers<Omit<ParsedBody<Body>, "release">>();
  const released = Promise.withResolvers<void>();
  const closed = receiveUpload(caller.account.id, request, expected, async (upload) => {
    const isKeyed = request.headers["idempotency-key"] !== undefined;
    // An invalid form never repeats a valid one, and its rejected parts are not in the upload.
    const isValid = upload.violations.length === 0;
    const fingerprint =
      isKeyed && isValid
        ? await hashing.use(() => digestOfForm(upload.fields, upload.file?.fd ?? null))
        : undefined;
    parsed.resolve({ body: bodyOf(upload), fingerprint });
    await released.promise;
  });
  closed.catch(parsed.reject);
  const release = () => {
    released.resolve();
    return closed;
  };
  return { ...(await parsed.promise), release };
}

/**
 * Returns the fields of a schema, converted to its types; empty ones are omitted. Text that is not a number
 * stays text, and violates the schema.
 */
export function bodyOfForm(
  fields: ReadonlyMap<string, string>,
  { properties }: TObject,
): Record<string, unknown> {
  const known = [...fields].filter(
    ([name, text]) => text !== "" && Object.hasOwn(properties, name),
  );
  return Object.fromEntries(
    known.map(([name, text]) => [name, valueOf(properties[name] as { type?: unknown }, text)]),
  );
}

function valueOf({ type }: { readonly type?: unknown }, text: string): unknown {
  const types = new Set([type].flat());
  if (types.has("integer")) return /^-?\d{1,19}$/.test(text.trim()) ? Number(text) : text;
  if (types.has("boolean") && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === "true";
  return text;
}

const read_bytes = 1_048_576;
const readInto = promisify(read);

/** The fingerprint of an upload: a digest of its fields and of the bytes of its open file. */
async function digestOfForm(
  fields: ReadonlyMap<string, string>,
  fd: number | null,
): Promise<string> {
  const hash = createHash("sha256").update(canonicalJson(Object.fromEntries(fields)));
  if (fd === null) return hash.digest("hex");
  const buffer = Buffer.allocUnsafe(read_bytes);
  for (let position = 0; ;) {
    const { bytesRead } = await readInto(fd, buffer, 0, buffer.length, position);
    if (bytesRead === 0) return hash.digest("hex");
    hash.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
}
