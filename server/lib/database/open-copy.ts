import { once } from "node:events";
import { finished } from "node:stream/promises";
import type pg from "pg";
import { from as copyFrom } from "pg-copy-streams";

/** A COPY … FROM STDIN that is under way. */
export type Copy = {
  /** Resolves when more may be written. */
  write(lines: Uint8Array): Promise<void>;
  /** Resolves when all rows are stored. */
  end(): Promise<void>;
  /** Unless it ended: tells the server to undo the COPY and waits for it, as the connection takes no statement before. */
  abandon(): Promise<void>;
};

/** Begins a COPY in text format that may take `seconds_max`; nothing else runs on the connection before it ended. */
export function openCopy(client: pg.PoolClient, copy_sql: string, seconds_max: number): Copy {
  const stream = copyFrom(copy_sql);
  // The pool's limit for one query is far below what a large file takes.
  stream.query_timeout = seconds_max * 1_000;
  let failure: Error | null = null;
  stream.on("error", (error) => void (failure = error));
  client.query(stream);
  return {
    async write(lines) {
      if (failure) throw failure;
      if (!stream.write(lines)) await once(stream, "drain");
    },
    async end() {
      if (failure) throw failure;
      stream.end();
      await finished(stream);
    },
    async abandon() {
      if (stream.writableFinished || failure) return;
      stream.destroy();
      await once(stream, "close").catch(() => {});
    },
  };
}
