// Answers exports as CSV files.
import type { AuditAction } from "../../../accounts/audit/audit-actions.ts";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { recordAudit } from "../../../accounts/audit/record-audit.ts";
import type { RequestContext } from "../../route.ts";

/** How often the caller of a running export is authorized again. */
const reauthorize_ms = 15_000;

type ExportContext = Pick<
  RequestContext<unknown, object, unknown>,
  "app" | "actor" | "query" | "request" | "reply" | "reauthorize" | "write"
>;

/**
 * Answers with the chunks as a file. Records the export in the audit trail first, as `action` on the subject,
 * with the names of the query's fields; only then the first chunk is read. A HEAD gets the headers alone: it
 * reads and records nothing.
 */
export async function sendExport(
  context: ExportContext,
  {
    action,
    subject_id = null,
    file,
  }: { action: AuditAction; subject_id?: number | null; file: string },
  chunks: AsyncGenerator<string>,
): Promise<Readable | ""> {
  const { app, actor, query, request, reply, write } = context;
  if (request.method === "HEAD") {
    describeFile(reply, file);
    return "";
  }
  const detail = { filters: Object.keys(query) };
  await write((tx) => recordAudit(tx, actor, { at: app.clock.now(), action, subject_id, detail }));
  return sendCsv(reply, file, whileAuthorized(context, chunks));
}

/**
 * Answers with the chunks as a file, and reads them only as fast as the client does. A chunk that fails cuts
 * the connection, so that an incomplete file is not mistaken for a complete one.
 */
export function sendCsv(
  reply: FastifyReply,
  file: string,
  chunks: AsyncGenerator<string>,
): Readable {
  describeFile(reply, file);
  return Readable.from(chunks, { objectMode: false, highWaterMark: 65_536 });
}

function describeFile(reply: FastifyReply, file: string): void {
  void reply.header("content-type", "text/csv; charset=utf-8");
  void reply.header("content-disposition", `attachment; filename="${file}"`);
}

async function* whileAuthorized(
  { app, reauthorize }: ExportContext,
  chunks: AsyncGenerator<string>,
): AsyncGenerator<string> {
  let authorized_ms = app.clock.now().getTime();
  for await (const chunk of chunks) {
    const now_ms = app.clock.now().getTime();
    if (now_ms - authorized_ms >= reauthorize_ms) {
      await reauthorize();
      authorized_ms = now_ms;
    }
    yield chunk;
  }
}
