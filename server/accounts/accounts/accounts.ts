import { sql, type Kysely } from "kysely";
import type { DB, Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { AccountResponse } from "./account-schema.ts";
import type { CallCaps } from "./internal/call-caps-schema.ts";
import { boundOf } from "./call-destinations.ts";
import { storageUsed } from "./storage.ts";
import type { Feature } from "../permissions.ts";

/** Returns the account, or throws not-found. */
export async function findAccount(db: Kysely<DB>, accountId: number): Promise<AccountResponse> {
  const row = await accountRows(db).where("account_id", "=", accountId).executeTakeFirst();
  if (!row) throw notFound();
  return accountResponse(row);
}

/** Lists every account of the installation, for its operator. */
export async function listAccounts(db: Kysely<DB>): Promise<AccountResponse[]> {
  return (await accountRows(db).orderBy("account_id").execute()).map(accountResponse);
}

/** Returns the IDs of the frozen accounts of the installation. */
export async function findFrozenAccounts(db: Kysely<DB>): Promise<ReadonlySet<number>> {
  const rows = await db
    .selectFrom("accounts")
    .select("account_id")
    .where("frozen_at", "is not", null)
    .execute();
  return new Set(rows.map(({ account_id }) => account_id));
}

/**
 * Returns the account, its settings locked until the transaction ends; throws not-found. A campaign or a file that is
 * being written locks only its key, and must not delay a change of the settings.
 */
export async function lockAccount(tx: Tx, id: number): Promise<AccountResponse> {
  await tx
    .selectFrom("accounts")
    .select("account_id")
    .where("account_id", "=", id)
    .forNoKeyUpdate()
    .execute();
  return findAccount(tx, id);
}

function accountRows(db: Kysely<DB>) {
  return db
    .selectFrom("accounts")
    .select([
      "account_id as id",
      "name",
      "features",
      "country_code",
      "time_zone",
      "requests_a_minute",
      "token_requests_a_minute",
      "chat_writes_a_minute",
      "chat_valid_numbers_only",
      "chat_stop_words",
      "chat_stop_scope",
      "chat_quiet_from",
      "chat_quiet_to",
      "chat_error_percent",
      "night_calling",
      "calling_from",
      "calling_to",
      "calling_hours_allowed",
      "region_locked",
      "calls_recorded",
      "agent_ring_seconds",
      "customer_ring_seconds",
      "talk_minutes_max",
      "accept_voice_file_id",
      "busy_voice_file_id",
      "calls_per_customer_day",
      "call_destinations_allowed as destinations_allowed",
      "call_destinations as destinations",
      "call_caps",
      "call_notice_chat_number_id",
      "call_notice_template_id",
      "call_pulse_seconds",
      "chat_credit_low",
      "call_credit_low",
      "retention_messages_days",
      "retention_calls_days",
      "retention_recordings_days",
      "retention_events_days",
      "retention_idempotency_keys_days",
      "retention_audit_days",
      "retention_ledger_days",
      "storage_megabytes",
      sql<number>`(${sql.raw(storageUsed("accounts.account_id"))})::bigint`.as(
        "storage_used_bytes",
      ),
    ]);
}

type Row = Awaited<ReturnType<ReturnType<typeof accountRows>["executeTakeFirstOrThrow"]>>;

function accountResponse(row: Row): AccountResponse {
  return {
    id: row.id,
    name: row.name,
    features: row.features as Feature[],
    country_code: row.country_code,
    time_zone: row.time_zone,
    region_locked: row.region_locked,
    requests: {
      a_minute: row.requests_a_minute,
      of_token_a_minute: row.token_requests_a_minute,
    },
    chat: {
      writes_a_minute: row.chat_writes_a_minute,
      valid_numbers_only: row.chat_valid_numbers_only,
      stop_words: row.chat_stop_words,
      stop_scope: row.chat_stop_scope as AccountResponse["chat"]["stop_scope"],
      quiet_from: row.chat_quiet_from && timeOfDay(row.chat_quiet_from),
      quiet_to: row.chat_quiet_to && timeOfDay(row.chat_quiet_to),
      error_percent: row.chat_error_percent,
    },
    calls: {
      pulse_seconds: row.call_pulse_seconds,
      night_calling: row.night_calling,
      calling_from: timeOfDay(row.calling_from),
      calling_to: timeOfDay(row.calling_to),
      calling_hours_allowed: row.calling_hours_allowed,
      recorded: row.calls_recorded,
      agent_ring_seconds: row.agent_ring_seconds,
      customer_ring_seconds: row.customer_ring_seconds,
      talk_minutes_max: row.talk_minutes_max,
      accept_voice_file_id: row.accept_voice_file_id,
      busy_voice_file_id: row.busy_voice_file_id,
      calls_per_customer_day: row.calls_per_customer_day,
      destinations_allowed: [...boundOf(row)],
      destinations: row.destinations,
      caps: row.call_caps as CallCaps,
      notice: noticeResponse(row),
    },
    credits: { chat_low: row.chat_credit_low, call_low: row.call_credit_low },
    retention: {
      messages_days: row.retention_messages_days,
      calls_days: row.retention_calls_days,
      recordings_days: row.retention_recordings_days,
      events_days: row.retention_events_days,
      idempotency_keys_days: row.retention_idempotency_keys_days,
      audit_days: row.retention_audit_days,
      ledger_days: row.retention_ledger_days,
    },
    storage: { used_bytes: row.storage_used_bytes, megabytes_max: row.storage_megabytes },
  };
}

/** Returns the hours and minutes of a database time. */
function timeOfDay(time: string): string {
  return time.slice(0, "hh:mm".length);
}

/** A constraint ensures that both are set or neither. */
function noticeResponse({
  call_notice_chat_number_id: chat_number_id,
  call_notice_template_id: template_id,
}: Row): AccountResponse["calls"]["notice"] {
  return chat_number_id === null || template_id === null ? null : { chat_number_id, template_id };
}
