import type { Tx } from "../../lib/database/database.ts";

/** Who did something: a token's user within a request, or an operator at the command line. */
export type Actor = {
  readonly account_id: number;
  /** Null at the command line. */
  readonly user_id: number | null;
  readonly token_id: number | null;
  readonly request_id: string;
};

/** The actor of an HTTP request: every token acts as a user. */
export type UserActor = Actor & { readonly user_id: number };

/** Adds a line to the account's audit trail, in the transaction of what it tells. No personal data in `detail`. */
export async function recordAudit(
  tx: Tx,
  actor: Actor,
  entry: { at: Date; action: string; subject_id: number | string | null; detail?: unknown },
): Promise<void> {
  await tx
    .insertInto("audit_entries")
    .values({
      ...actor,
      at: entry.at,
      action: entry.action,
      subject_id: entry.subject_id === null ? null : String(entry.subject_id),
      detail: JSON.stringify(entry.detail ?? {}),
    })
    .execute();
}
