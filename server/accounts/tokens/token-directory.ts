// Authenticates tokens. Each process looks a token up at most once in a few seconds; a revocation
// invalidates the cached entries of every process.
import { timingSafeEqual } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";
import { openSlots } from "../../lib/slots.ts";
import type { Caller } from "../caller.ts";
import { grantedPermissions } from "../roles/granted-permissions.ts";
import { openLastUses } from "./internal/last-uses.ts";
import type { Feature, Permission } from "../permissions.ts";
import { hashSecret, readToken } from "./internal/token-text.ts";

export type TokenDirectory = {
  /**
   * Returns the caller of a token, or null if the token is malformed, unknown, expired or revoked; 503
   * when too many uncached tokens wait to be looked up.
   */
  find(token: string): Promise<Caller | null>;
  /** Saves when tokens were last used since the previous call. */
  saveLastUses(): Promise<void>;
};

const fresh_ms = 5_000;
const entries_max = 20_000;
/** Anyone can send unknown tokens, so these get few connections and a queue that ends in 503. */
const unknown_lookups_max = 2;
const strangers_waiting_max = 1_000;

type Entry = {
  readonly caller: Caller;
  readonly secret_sha256: Buffer;
  readonly expires_at: Date | null;
  readonly read_at_ms: number;
};

/** Opens a directory that caches the callers of the `max` most recently used tokens. */
export function openTokenDirectory(app: App, max = entries_max): TokenDirectory {
  const entries = new LRUCache<string, Entry>({ max });
  const reads = new Map<string, Promise<Entry | null>>();
  const strangers = openSlots(unknown_lookups_max, strangers_waiting_max);
  const lastUses = openLastUses(app.db);

  app.notifications.on("token", (subject) => {
    const [account, token] = subject.split(":");
    const isMeant =
      token === all_tokens
        ? (key: string) => key.startsWith(`${account}:`)
        : (key: string) => key === subject;
    // Outdated, not removed: known tokens do not wait in the queue of unknown ones.
    for (const key of [...entries.keys()].filter(isMeant))
      entries.set(key, { ...entries.peek(key)!, read_at_ms: Number.NEGATIVE_INFINITY });
    // A read in progress may have seen the old state, so its result is not cached.
    for (const key of reads.keys()) if (isMeant(key)) reads.delete(key);
  });

  const read = (subject: string, accountId: number, tokenId: number): Promise<Entry | null> => {
    const underWay = reads.get(subject);
    if (underWay) return underWay;
    const fromDatabase = () => readEntry(app, accountId, tokenId);
    const reading = (entries.has(subject) ? fromDatabase() : strangers.use(fromDatabase))
      .then((entry) => {
        if (reads.get(subject) !== reading) return entry;
        if (entry) entries.set(subject, entry);
        else entries.delete(subject);
        return entry;
      })
      .finally(() => {
        if (reads.get(subject) === reading) reads.delete(subject);
      });
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
      }
      if (!timingSafeEqual(entry.secret_sha256, hashSecret(parts.secret))) return null;
      const now = app.clock.now();
      if (entry.expires_at && entry.expires_at <= now) return null;
      lastUses.note(parts.account_id, parts.token_id, now);
      return entry.caller;
    },
    saveLastUses: lastUses.save,
  };
}

/** Returns a token's name in notifications. */
export function tokenSubject(accountId: number, tokenId: number): string {
  return `${accountId}:${tokenId}`;
}

const all_tokens = "all";

/** Returns the name in notifications of all tokens of an account, for changes to settings, users or roles. */
export function accountTokensSubject(accountId: number): string {
  return `${accountId}:${all_tokens}`;
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
  chat_writes_a_minute: number;
  chat_valid_numbers_only: boolean;
  is_owner: boolean;
  role_permissions: Permission[] | null;
};

const findToken = statement<Row>(`
  select t.kind, t.user_id, t.secret_sha256, t.scopes, t.expires_at,
    a.name as account_name, a.features, a.country_code, a.time_zone,
    a.chat_writes_a_minute, a.chat_valid_numbers_only, u.is_owner, r.permissions as role_permissions
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
        chat_writes_a_minute: row.chat_writes_a_minute,
        chat_valid_numbers_only: row.chat_valid_numbers_only,
      },
      user_id: row.user_id,
      token_id: tokenId,
      token_kind: row.kind,
      has_role: row.is_owner || row.role_permissions !== null,
      permissions: grantedPermissions(row, row.scopes),
    },
    secret_sha256: row.secret_sha256,
    expires_at: row.expires_at,
    read_at_ms,
  };
}
