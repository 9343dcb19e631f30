// How exports are answered.
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { recordAudit } from "../accounts/record-audit.ts";
import type { Call } from "./route.ts";

type ExportCall = Pick<Call<unknown, object, unknown>, "app" | "actor" | "query" | "reply">;

/**
 * Answers with the chunks as a file. Data that leaves the house is written down, before it leaves: as
 * `action`, on the subject, with the names of the query's fields. The chunks' first page is asked for after that.
 */
export async function sendExport(
  { app, actor, query, reply }: ExportCall,
  { action, subject_id = null, file }: { action: string; subject_id?: number | null; file: string },
  chunks: AsyncGenerator<string>,
): Promise<Readable> {
  const detail = { filters: Object.keys(query) };
  await app.db.query
    .transaction()
    .execute((tx) => recordAudit(tx, actor, { at: app.clock.now(), action, subject_id, detail }));
  return sendCsv(reply, file, chunks);
}

/** The chunks as a file; a reader that is slow or gone asks for no more of them. */
export function sendCsv(
  reply: FastifyReply,
  file: string,
  chunks: AsyncGenerator<string>,
): Readable {
  void reply.header("content-type", "text/csv; charset=utf-8");
  void reply.header("content-disposition", `attachment; filename="${file}"`);
  return Readable.from(chunks, { objectMode: false, highWaterMark: 65_536 });
}
