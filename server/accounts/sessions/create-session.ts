// A session is a token of kind `session`: the same look-up, revocation and permissions as every token.
import type { Tx } from "../../lib/database/database.ts";
import type { Client } from "../audit/record-audit.ts";
import { recordAudit } from "../audit/record-audit.ts";
import { createToken } from "../tokens/create-token.ts";

/** A session ends this long after its creation, whatever happens. */
export const session_days_max = 14;
const day_ms = 86_400_000;

export type NewSession = {
  readonly account_id: number;
  readonly user_id: number;
} & Client;

/** Creates a session of a user and returns the text of its cookie, which cannot be read again. */
export async function createSession(tx: Tx, session: NewSession, now: Date): Promise<string> {
  const { account_id, user_id, address, user_agent } = session;
  const { id, token } = await createToken(
    tx,
    {
      account_id,
      kind: "session",
      user_id,
      name: "Console",
      scopes: null,
      expires_at: new Date(now.getTime() + session_days_max * day_ms),
      created_by: user_id,
      address,
      user_agent,
    },
    now,
  );
  await recordAudit(
    tx,
    { ...session, token_id: id },
    { at: now, action: "session.started", subject_id: id },
  );
  return token;
}
