// How exports are answered.
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { recordAudit } from "../accounts/audit/record-audit.ts";
import type { Call } from "./route.ts";

/** How long an export goes on before it is asked again whether the caller may have it. */
const trusted_ms = 15_000;

type ExportCall = Pick<
  Call<unknown, object, unknown>,
  "app" | "actor" | "query" | "reply" | "reauthorize"
>;

/**
 * Answers with the chunks as a file. Data that leaves the house is written down, before it leaves: as
 * `action`, on the subject, with the names of the query's fields. The chunks' first page is asked for after that.
 */
export async function sendExport(
  call: ExportCall,
  { action, subject_id = null, file }: { action: string; subject_id?: number | null; file: string },
  chunks: AsyncGenerator<string>,
): Promise<Readable> {
  const { app, actor, query, reply } = call;
  const detail = { filters: Object.keys(query) };
  await app.db.query
    .transaction()
    .execute((tx) => recordAudit(tx, actor, { at: app.clock.now(), action, subject_id, detail }));
  return sendCsv(reply, file, whileAllowed(call, chunks));
}

/**
 * The chunks as a file; a reader that is slow or gone asks for no more of them. One that fails cuts the
 * connection before the end of the answer, so that no part is taken for the whole.
 */
export function sendCsv(
  reply: FastifyReply,
  file: string,
  chunks: AsyncGenerator<string>,
): Readable {
  void reply.header("content-type", "text/csv; charset=utf-8");
  void reply.header("content-disposition", `attachment; filename="${file}"`);
  return Readable.from(chunks, { objectMode: false, highWaterMark: 65_536 });
}

async function* whileAllowed(
  { app, reauthorize }: ExportCall,
  chunks: AsyncGenerator<string>,
): AsyncGenerator<string> {
  let asked_ms = app.clock.now().getTime();
  for await (const chunk of chunks) {
    const now_ms = app.clock.now().getTime();
    if (now_ms - asked_ms >= trusted_ms) {
      await reauthorize();
      asked_ms = now_ms;
    }
    yield chunk;
  }
}
