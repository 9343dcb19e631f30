import { once } from "node:events";
import { finished } from "node:stream/promises";
import type pg from "pg";
import { from as copyFrom } from "pg-copy-streams";

/**
 * Stores lines in text format by one COPY … FROM STDIN, which may take `seconds_max` and uses the connection
 * exclusively. Returns the number of rows that PostgreSQL stored. After any error, the caller must roll back.
 */
export async function copyLines(
  client: pg.PoolClient,
  copy_sql: string,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  seconds_max: number,
): Promise<number> {
  const stream = copyFrom(copy_sql);
  // A large file takes far longer than the pool's query timeout.
  stream.query_timeout = seconds_max * 1_000;
  const failures: Error[] = [];
  stream.on("error", (error) => void failures.push(error));
  client.query(stream);
  try {
    for await (const chunk of chunks) {
      if (failures.length > 0) throw failures[0]!;
      if (!stream.write(chunk)) await once(stream, "drain");
    }
    if (failures.length > 0) throw failures[0]!;
    stream.end();
    await finished(stream);
    return stream.rowCount;
  } finally {
    // Makes the server undo the COPY, and waits until the connection is usable again.
    if (!stream.writableFinished && failures.length === 0) {
      stream.destroy();
      await once(stream, "close").catch(() => {});
    }
  }
}
