import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import { session_idle_ms_max } from "../tokens/token-directory.ts";
import type { SessionResponse } from "./session-schema.ts";

const sessions_max = 100;

type Owner = { readonly account_id: number; readonly user_id: number; readonly token_id: number };

/** Lists the sessions of a user that have not ended, the one of the request first, then by last use. */
export async function listSessions(
  db: Kysely<DB>,
  { account_id, user_id, token_id }: Owner,
  now: Date,
): Promise<SessionResponse[]> {
  const used_after = new Date(now.getTime() - session_idle_ms_max);
  const rows = await db
    .selectFrom("tokens")
    .select(["id", "address", "user_agent", "created_at", "expires_at"])
    .select((eb) => eb.fn.coalesce("last_used_at", "created_at").as("last_used_at"))
    .where("account_id", "=", account_id)
    .where("user_id", "=", user_id)
    .where("kind", "=", "session")
    .where("revoked_at", "is", null)
    .where("expires_at", ">", now)
    .where((eb) =>
      // The last use of this session may not be saved yet.
      eb.or([
        eb("id", "=", token_id),
        eb(eb.fn.coalesce("last_used_at", "created_at"), ">", used_after),
      ]),
    )
    .orderBy("last_used_at", "desc")
    .limit(sessions_max)
    .execute();
  return rows
    .map(({ id, address, user_agent, created_at, expires_at, last_used_at }) => ({
      id,
      is_current: id === token_id,
      address,
      user_agent,
      created_at: created_at.toISOString(),
      // In use right now, which is saved later.
      last_used_at: (id === token_id ? now : last_used_at).toISOString(),
      expires_at: expires_at!.toISOString(),
    }))
    .toSorted((a, b) => Number(b.is_current) - Number(a.is_current));
}
