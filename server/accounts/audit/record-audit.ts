import { statement, type Tx } from "../../lib/database/database.ts";
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

const insertEntries = statement(`
  insert into audit_entries
    (account_id, user_id, token_id, request_id, address, user_agent, at, action, subject_id, detail)
  select $1, $2, $3, $4, $5, $6, $7, $8, s.id, $9::jsonb from unnest($10::text[]) s (id)`);

/** Adds the same audit entry for each of the subjects, in one statement; see recordAudit. */
export async function recordAudits(
  tx: Tx,
  { account_id, user_id, token_id, request_id, address, user_agent }: Actor,
  entry: { at: Date; action: AuditAction; subject_ids: readonly number[]; detail?: unknown },
): Promise<void> {
  if (entry.subject_ids.length === 0) return;
  const actor = [account_id, user_id, token_id, request_id, address ?? null, user_agent ?? null];
  const detail = JSON.stringify(entry.detail ?? {});
  const subjects = entry.subject_ids.map(String);
  await insertEntries(tx, [...actor, entry.at, entry.action, detail, subjects]);
}
