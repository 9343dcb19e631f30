import { addJob } from "../../engine/add-job.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalid, invalidField } from "../../lib/errors.ts";
import { hasDestination } from "../../lib/phone-destinations/phone-destinations.ts";
import type { AccountResponse, AccountPatch } from "./account-schema.ts";
import { findAccount, lockAccount } from "./accounts.ts";
import { violationsOfBounds } from "./internal/setting-bounds.ts";
import { validateAccount } from "./validate-account.ts";
import { recordAudit, type Actor } from "../audit/record-audit.ts";

/**
 * Changes the actor's account and returns it. The caller validates that the chat notification's number and
 * template exist. Throws validation-failed (time_zone, chat, the operator's bounds, country_code), not-found.
 */
export async function updateAccount(
  tx: Tx,
  actor: Actor,
  patch: AccountPatch,
  now: Date,
): Promise<AccountResponse> {
  const violations = validateAccount(patch);
  if (violations.length > 0) throw invalid(violations);
  const { chat = {}, calls = {}, credits = {}, retention = {}, ...own } = patch;
  const former = await lockAccount(tx, actor.account_id);
  const beyond = violationsOfBounds(former, patch);
  if (beyond.length > 0) throw invalid(beyond);
  await refuseOtherCountry(tx, former, patch);
  const bound = validateBound(former, patch);
  await tx
    .updateTable("accounts")
    .set({
      ...own,
      ...chatColumns(chat),
      ...callColumns(calls),
      ...creditColumns(credits),
      ...retentionColumns(retention, now),
      ...bound,
      updated_at: now,
    })
    .where("account_id", "=", actor.account_id)
    .execute();
  if (changesQuietTime(patch)) await wakeCampaigns(tx, actor.account_id, now);
  const account = await findAccount(tx, actor.account_id);
  await recordAudit(tx, actor, {
    at: now,
    action: "account.updated",
    subject_id: actor.account_id,
    detail: {
      changed: [
        ...Object.keys(own),
        ...Object.keys(chat).map((field) => `chat.${field}`),
        ...Object.keys(calls).map((field) => `calls.${field}`),
        ...Object.keys(credits).map((field) => `credits.${field}`),
        ...Object.keys(retention).map((field) => `retention.${field}`),
      ],
    },
  });
  return account;
}

/**
 * Refuses destinations beyond the operator's bound. Returns the bound to store with a new country code: without
 * one of its own the account would choose its bound by its country code.
 */
function validateBound(
  account: AccountResponse,
  { country_code, calls }: AccountPatch,
): { readonly call_destinations_allowed?: string[] } {
  const wanted = calls?.destinations ?? [];
  if (country_code === undefined && wanted.length === 0) return {};
  const bound = account.calls.destinations_allowed;
  const beyond = wanted.findIndex((each) => !hasDestination(bound, each));
  if (beyond >= 0)
    throw invalidField(
      `calls.destinations.${beyond}`,
      `must be one of the countries that the operator allows, ${bound.join(", ") || "none"}`,
    );
  return country_code === undefined ? {} : { call_destinations_allowed: bound };
}

/** Contacts are found by their ten digits, which mean another person's number under another country code. */
async function refuseOtherCountry(
  tx: Tx,
  { id, country_code: former }: AccountResponse,
  { country_code }: AccountPatch,
): Promise<void> {
  if (country_code === undefined || country_code === former) return;
  const contact = await tx
    .selectFrom("contacts")
    .select("id")
    .where("account_id", "=", id)
    .limit(1)
    .executeTakeFirst();
  if (!contact) return;
  const reason = `must stay ${former} while the account has contacts, whose ten digits are numbers of +${former}`;
  throw invalidField("country_code", reason);
}

function changesQuietTime({ time_zone, chat = {} }: AccountPatch): boolean {
  return [time_zone, chat.quiet_from, chat.quiet_to].some((value) => value !== undefined);
}

/** Campaigns may wait for the end of the previous quiet time. */
function wakeCampaigns(tx: Tx, account_id: number, now: Date): Promise<void> {
  return addJob(tx, { account_id, kind: "chat.wake_campaigns", subject: "", run_at: now }, now);
}

/** Columns are named `chat_` and the field. */
function chatColumns(chat: NonNullable<AccountPatch["chat"]>) {
  const { stop_words, ...others } = chat;
  return {
    ...Object.fromEntries(Object.entries(others).map(([field, value]) => [`chat_${field}`, value])),
    ...(stop_words ? { chat_stop_words: distinctWords(stop_words) } : {}),
  };
}

/** Most columns are named like the fields. */
function callColumns({
  recorded,
  notice,
  destinations,
  ...others
}: NonNullable<AccountPatch["calls"]>) {
  return {
    ...others,
    ...(recorded === undefined ? {} : { calls_recorded: recorded }),
    ...(destinations === undefined ? {} : { call_destinations: destinations }),
    ...(notice === undefined
      ? {}
      : {
          call_notice_chat_number_id: notice?.chat_number_id ?? null,
          call_notice_template_id: notice?.template_id ?? null,
        }),
  };
}

/** Columns are named `retention_` and the field. Records past a new period are purged soon. */
function retentionColumns(retention: NonNullable<AccountPatch["retention"]>, now: Date) {
  const fields = Object.entries(retention);
  if (fields.length === 0) return {};
  return {
    ...Object.fromEntries(fields.map(([field, value]) => [`retention_${field}`, value])),
    retention_due_at: now,
    recordings_due_at: now,
  };
}

/** Null means off, which is stored as 0. */
function creditColumns({ chat_low, call_low }: NonNullable<AccountPatch["credits"]>) {
  return {
    ...(chat_low === undefined ? {} : { chat_credit_low: chat_low ?? 0 }),
    ...(call_low === undefined ? {} : { call_credit_low: call_low ?? 0 }),
  };
}

/** Trims the words and removes duplicates ignoring case; the first spelling is kept. */
function distinctWords(words: readonly string[]): string[] {
  const byFolded = new Map<string, string>();
  for (const word of words.map((each) => each.trim())) {
    if (!byFolded.has(word.toLowerCase())) byFolded.set(word.toLowerCase(), word);
  }
  return [...byFolded.values()];
}
