// Tells whom a token acts for. Looked up at most once in a few seconds per token and process;
// a revocation purges the copies of every process.
import { timingSafeEqual } from "node:crypto";
import type { App } from "../engine/app.ts";
import { statement } from "../lib/database.ts";
import type { Caller } from "./caller.ts";
import { permissionNames, type Feature, type Permission } from "./permissions.ts";
import { hashSecret, readToken } from "./token-text.ts";

export type TokenDirectory = {
  /** The caller behind a token, or null when it is malformed, unknown, expired or revoked. */
  find(token: string): Promise<Caller | null>;
  /** Writes down which tokens were used since the last call; run now and then. */
  saveLastUses(): Promise<void>;
};

const fresh_ms = 5_000;
const entries_max = 20_000;

type Entry = {
  readonly caller: Caller;
  readonly secret_sha256: Buffer;
  readonly expires_at: Date | null;
  readonly read_at_ms: number;
  used: boolean;
};

export function openTokenDirectory(app: App): TokenDirectory {
  const entries = new Map<string, Entry>();
  const reads = new Map<string, Promise<Entry | null>>();
  app.hints.on("token", (subject) => void entries.delete(subject));

  const read = (subject: string, accountId: number, tokenId: number): Promise<Entry | null> => {
    const reading =
      reads.get(subject) ?? readEntry(app, accountId, tokenId).finally(() => reads.delete(subject));
    reads.set(subject, reading);
    return reading;
  };

  return {
    async find(token) {
      const parts = readToken(token);
      if (!parts) return null;
      const subject = tokenSubject(parts.account_id, parts.token_id);
      let entry = entries.get(subject) ?? null;
      if (!entry || performance.now() - entry.read_at_ms > fresh_ms) {
        entry = await read(subject, parts.account_id, parts.token_id);
        if (!entry) return null;
        if (entries.size >= entries_max) entries.clear();
        entries.set(subject, entry);
      }
      if (!timingSafeEqual(entry.secret_sha256, hashSecret(parts.secret))) return null;
      if (entry.expires_at && entry.expires_at <= app.clock.now()) return null;
      entry.used = true;
      return entry.caller;
    },
    async saveLastUses() {
      const used = [...entries.values()].filter((entry) => entry.used);
      for (const entry of used) {
        entry.used = false;
        await app.db.query
          .updateTable("tokens")
          .set({ last_used_at: app.clock.now() })
          .where("account_id", "=", entry.caller.account.id)
          .where("id", "=", entry.caller.token_id)
          .execute();
      }
    },
  };
}

/** How a token is named in hints. */
export function tokenSubject(accountId: number, tokenId: number): string {
  return `${accountId}:${tokenId}`;
}

type Row = {
  kind: "account" | "agent";
  user_id: number;
  secret_sha256: Buffer;
  scopes: Permission[] | null;
  expires_at: Date | null;
  account_name: string;
  features: Feature[];
  country_code: string;
  time_zone: string;
  is_owner: boolean;
  role_permissions: Permission[] | null;
};

const findToken = statement<Row>(`
  select t.kind, t.user_id, t.secret_sha256, t.scopes, t.expires_at,
    a.name as account_name, a.features, a.country_code, a.time_zone, u.is_owner,
    r.permissions as role_permissions
  from tokens t
  join accounts a on a.account_id = t.account_id
  join users u on u.account_id = t.account_id and u.id = t.user_id and u.active
  left join roles r on r.account_id = u.account_id and r.id = u.role_id
  where t.account_id = $1 and t.id = $2 and t.revoked_at is null`);

async function readEntry(app: App, accountId: number, tokenId: number): Promise<Entry | null> {
  const read_at_ms = performance.now();
  const [row] = await findToken(app.db.pool, [accountId, tokenId]);
  if (!row) return null;
  return {
    caller: {
      account: {
        id: accountId,
        name: row.account_name,
        features: new Set(row.features),
        country_code: row.country_code,
        time_zone: row.time_zone,
      },
      user_id: row.user_id,
      token_id: tokenId,
      token_kind: row.kind,
      has_role: row.is_owner || row.role_permissions !== null,
      permissions: permissionsOf(row),
    },
    secret_sha256: row.secret_sha256,
    expires_at: row.expires_at,
    read_at_ms,
    used: false,
  };
}

/** The owner may do everything; others what their role says; scopes only narrow. */
function permissionsOf(row: Row): Set<Permission> {
  const granted = row.is_owner ? permissionNames : (row.role_permissions ?? []);
  return new Set(
    row.scopes ? granted.filter((permission) => row.scopes!.includes(permission)) : granted,
  );
}
