// Authenticates tokens. Each process looks a token up at most once in a few seconds; a revocation
// invalidates the cached entries of every process.
import { timingSafeEqual } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { App } from "../../engine/app.ts";
import { openAddressList } from "../../lib/addresses/address-list.ts";
import { statement } from "../../lib/database/database.ts";
import { openStrangerLookups } from "../../lib/addresses/stranger-lookups.ts";
import { isUsableFrom, type Caller } from "../caller.ts";
import { grantedPermissions } from "../roles/granted-permissions.ts";
import { openLastUses } from "./internal/last-uses.ts";
import type { Feature, Permission } from "../permissions.ts";
import { hashSecret, readToken, type TokenParts } from "./token-text.ts";

export type TokenDirectory = {
  /**
   * Returns the caller of a token, or null if the token is malformed, unknown, expired or revoked; 503
   * when too many uncached tokens wait to be looked up, in all or from the sender's address. Notes the use of
   * the token, unless it may not be used from `ip`: the caller's isAllowedFrom reports that.
   */
  find(token: string, address?: () => string, ip?: string): Promise<Caller | null>;
  /** Saves when tokens were last used since the previous call. */
  saveLastUses(): Promise<void>;
};

const fresh_ms = 5_000;
/** A session ends after this long without use. */
export const session_idle_ms_max = 12 * 3_600_000;
const entries_max = 20_000;

type Entry = {
  readonly caller: Caller;
  readonly secret_sha256: Buffer;
  readonly expires_at: Date | null;
  /** The last use by any process, as far as it was saved when the entry was read. */
  readonly last_used_at: Date;
  readonly read_at_ms: number;
};

/** Opens a directory that caches the callers of the `max` most recently used tokens. */
export function openTokenDirectory(app: App, max = entries_max): TokenDirectory {
  const entries = new LRUCache<string, Entry>({ max });
  const reads = new Map<string, Promise<Entry | null>>();
  const lookUp = openStrangerLookups("tokens");
  const lastUses = openLastUses(app.db);

  app.notifications.on("token", (subject) => {
    const [account, token] = subject.split(":");
    const isMeant =
      token === all_tokens
        ? (key: string) => key.startsWith(`${account}:`)
        : (key: string) => key === subject || key.startsWith(`${subject}:`);
    // Outdated, not removed: known tokens do not wait in the queue of unknown ones.
    for (const key of [...entries.keys()].filter(isMeant))
      entries.set(key, { ...entries.peek(key)!, read_at_ms: Number.NEGATIVE_INFINITY });
    // A read in progress may have seen the old state, so its result is not cached.
    for (const key of reads.keys()) if (isMeant(key)) reads.delete(key);
  });

  /** Reads a token's entry; null unless it has this secret. Guesses at other tokens are not cached. */
  const read = (
    { account_id, token_id }: Omit<TokenParts, "secret">,
    secret_sha256: Buffer,
    address: () => string,
  ): Promise<Entry | null> => {
    const subject = tokenSubject(account_id, token_id);
    const key = `${subject}:${secret_sha256.toString("base64")}`;
    const underWay = reads.get(key);
    if (underWay) return underWay;
    const fromDatabase = () => readEntry(app, account_id, token_id);
    const reading = (entries.has(subject) ? fromDatabase() : lookUp(address(), fromDatabase))
      .then((found) => {
        const entry = found && timingSafeEqual(found.secret_sha256, secret_sha256) ? found : null;
        if (reads.get(key) !== reading) return entry;
        if (entry) entries.set(subject, entry);
        else if (!found) entries.delete(subject);
        return entry;
      })
      .finally(() => {
        if (reads.get(key) === reading) reads.delete(key);
      });
    reads.set(key, reading);
    return reading;
  };

  return {
    async find(token, address = () => "", ip) {
      const parts = readToken(token);
      if (!parts) return null;
      const subject = tokenSubject(parts.account_id, parts.token_id);
      const secret_sha256 = hashSecret(parts.secret);
      let entry = entries.get(subject) ?? null;
      // A token's secret never changes: a guess at a known token costs no look-up.
      if (entry && !timingSafeEqual(entry.secret_sha256, secret_sha256)) return null;
      if (!entry || performance.now() - entry.read_at_ms > fresh_ms) {
        entry = await read(parts, secret_sha256, address);
        if (!entry) return null;
      }
      const now = app.clock.now();
      if (entry.expires_at && entry.expires_at <= now) return null;
      if (isIdle(entry, lastUses.lastUse(parts.account_id, parts.token_id), now)) return null;
      if (ip === undefined || isUsableFrom(entry.caller, ip))
        lastUses.note(parts.account_id, parts.token_id, now);
      return entry.caller;
    },
    saveLastUses: lastUses.save,
  };
}

/** Whether a session was not used for half a day, by this process or by another. */
function isIdle({ caller, last_used_at }: Entry, here: Date | null, now: Date): boolean {
  if (caller.token_kind !== "session") return false;
  const last_ms = Math.max(last_used_at.getTime(), here?.getTime() ?? 0);
  return now.getTime() - last_ms > session_idle_ms_max;
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
  kind: "account" | "agent" | "session";
  last_used_at: Date;
  user_id: number;
  secret_sha256: Buffer;
  scopes: Permission[] | null;
  expires_at: Date | null;
  allowed_addresses: string[] | null;
  account_name: string;
  features: Feature[];
  country_code: string;
  time_zone: string;
  chat_writes_a_minute: number;
  requests_a_minute: number;
  token_requests_a_minute: number;
  chat_valid_numbers_only: boolean;
  frozen: boolean;
  is_owner: boolean;
  role_permissions: Permission[] | null;
};

const findToken = statement<Row>(`
  select t.kind, t.user_id, t.secret_sha256, t.scopes, t.expires_at, t.allowed_addresses,
    coalesce(t.last_used_at, t.created_at) as last_used_at,
    a.name as account_name, a.features, a.country_code, a.time_zone,
    a.chat_writes_a_minute, a.requests_a_minute, a.token_requests_a_minute,
    a.chat_valid_numbers_only, a.frozen_at is not null as frozen, u.is_owner, r.permissions as role_permissions
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
        requests_a_minute: row.requests_a_minute,
        token_requests_a_minute: row.token_requests_a_minute,
        chat_valid_numbers_only: row.chat_valid_numbers_only,
        frozen: row.frozen,
      },
      user_id: row.user_id,
      token_id: tokenId,
      token_kind: row.kind,
      is_owner: row.is_owner,
      has_role: row.is_owner || row.role_permissions !== null,
      permissions: grantedPermissions(row, row.scopes),
      ...(row.allowed_addresses ? { isAllowedFrom: openAddressList(row.allowed_addresses) } : {}),
    },
    secret_sha256: row.secret_sha256,
    expires_at: row.expires_at,
    last_used_at: row.last_used_at,
    read_at_ms,
  };
}
