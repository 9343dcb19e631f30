// Tells whom a token acts for. Looked up at most once in a few seconds per token and process;
// a revocation purges the copies of every process.
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
   * The caller behind a token, or null when it is malformed, unknown, expired or revoked; 503 when
   * too many tokens that this process has not met wait to be looked up.
   */
  find(token: string): Promise<Caller | null>;
  /** Writes down when tokens were last used, of those used since the call before. */
  saveLastUses(): Promise<void>;
};

const fresh_ms = 5_000;
const entries_max = 20_000;
/** Strangers' tokens: anybody can send them, so they get few connections and a line that ends in 503. */
const strangers_at_once_max = 2;
const strangers_waiting_max = 1_000;

type Entry = {
  readonly caller: Caller;
  readonly secret_sha256: Buffer;
  readonly expires_at: Date | null;
  readonly read_at_ms: number;
};

/** Keeps the callers of the `max` tokens used last. */
export function openTokenDirectory(app: App, max = entries_max): TokenDirectory {
  const entries = new LRUCache<string, Entry>({ max });
  const reads = new Map<string, Promise<Entry | null>>();
  const strangers = openSlots(strangers_at_once_max, strangers_waiting_max);
  const lastUses = openLastUses(app.db);

  app.notifications.on("token", (subject) => {
    const [account, token] = subject.split(":");
    const isMeant =
      token === all_tokens
        ? (key: string) => key.startsWith(`${account}:`)
        : (key: string) => key === subject;
    // Outdated, not gone: whom we know need not stand in the strangers' line.
    for (const key of [...entries.keys()].filter(isMeant))
      entries.set(key, { ...entries.peek(key)!, read_at_ms: Number.NEGATIVE_INFINITY });
    // A read that is under way may have seen the state before: its entry is not kept.
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

/** How a token is named in notifications. */
export function tokenSubject(accountId: number, tokenId: number): string {
  return `${accountId}:${tokenId}`;
}

const all_tokens = "all";

/** How all tokens of an account are named in notifications, when its settings, users or roles change. */
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
