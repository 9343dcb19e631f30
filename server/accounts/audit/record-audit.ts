import type { Tx } from "../../lib/database/database.ts";
import type { AuditAction } from "./audit-actions.ts";

/** The actor of a change: the user and token of a request, or an operator at the command line. */
export type Actor = {
  readonly account_id: number;
  /** Null at the command line. */
  readonly user_id: number | null;
  readonly token_id: number | null;
  readonly request_id: string;
  /** The client of the request; absent where no request made the change. */
  readonly address?: string;
  readonly user_agent?: string | null;
};

/** The client of a request that needs no token. */
export type Client = {
  readonly request_id: string;
  readonly address: string;
  readonly user_agent: string | null;
};

/** The actor of an HTTP request: every token authenticates as a user. */
export type UserActor = Actor & { readonly user_id: number };

/** Adds an audit entry in the transaction of the change. `detail` must not contain personal data. */
export async function recordAudit(
  tx: Tx,
  actor: Actor,
  entry: { at: Date; action: AuditAction; subject_id: number | string | null; detail?: unknown },
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
