import type pg from "pg";
import { copyLines } from "../../lib/csv/copy-lines.ts";
import type { Tx } from "../../lib/database/database.ts";
import { statement_seconds } from "../intake/limits.ts";
import type { IntakeSummary, RecipientSource } from "./recipient-source.ts";

/** Runs a write in a transaction; writeWithClient has a longer time limit and passes the connection for COPY. */
export type CampaignWrites = {
  write<Answer>(effect: (tx: Tx) => Promise<Answer>): Promise<Answer>;
  writeWithClient<Answer>(
    statement_seconds: number,
    effect: (tx: Tx, client: pg.PoolClient) => Promise<Answer>,
  ): Promise<Answer>;
};

/** Where recipients are stored. */
export type RecipientTarget<R> = {
  readonly copy_sql: string;
  /** The first columns of each line, each with its tab. */
  readonly prefix: string;
  /** Stores at most `few_recipients_max` recipients, in their order, in one statement. */
  insert(tx: Tx, recipients: readonly R[]): Promise<void>;
};

/**
 * Runs `write` in a transaction, with a function that stores the source's recipients in it. Few recipients
 * are read before the transaction and stored by one statement; many are stored by COPY while they are read.
 */
export async function writeWithRecipients<R, Answer>(
  writes: CampaignWrites,
  source: RecipientSource<R>,
  { copy_sql, prefix, insert }: RecipientTarget<R>,
  write: (tx: Tx, store: () => Promise<IntakeSummary>) => Promise<Answer>,
): Promise<Answer> {
  const few = await source.readFew?.();
  if (few)
    return writes.write((tx) =>
      write(tx, async () => {
        await insert(tx, few.recipients);
        return few;
      }),
    );
  return writes.writeWithClient(statement_seconds, (tx, client) =>
    write(tx, async () => {
      await copyLines(client, copy_sql, source.lines(prefix), statement_seconds);
      return source.summary();
    }),
  );
}
