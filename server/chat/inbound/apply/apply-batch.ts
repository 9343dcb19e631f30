// Applies one batch of a number's webhooks.
import {
  findNewLinks,
  linkBsuids,
  type BsuidLink,
} from "../../../audience/suppressions/link-bsuids.ts";
import type { App } from "../../../engine/app.ts";
import { isLeaseLost, type Lease } from "../../../engine/leases.ts";
import { statement } from "../../../lib/database/database.ts";
import { isDatabaseUnavailable, isOfOneStatement } from "../../../lib/database/database-errors.ts";
import { completeChatCampaigns } from "../../campaigns/complete-chat-campaigns.ts";
import { skipDeferredDuplicates, skipDuplicatesOf } from "../../campaigns/skip-duplicate-people.ts";
import { wakeSenders } from "../../numbers/wake-senders.ts";
import type { RecipientState } from "../../recipients/recipient-states.ts";
import { withoutErasedReplies } from "../erased-replies.ts";
import { openConsentReader } from "../internal/stop-words.ts";
import { answerStatus } from "./answer-statuses.ts";
import { findConsentLinks } from "./find-consent-links.ts";
import type { Dispatch } from "./furthest-moves.ts";
import type { InboxNumber, StoredWebhooks } from "./inbox.ts";
import { readWebhooks } from "./read-webhooks.ts";
import { replyRows } from "./reply-rows.ts";
import { applySideEffects } from "./apply-side-effects.ts";
import { applyFailureEffects, openFailureDecisions } from "./reported-failures.ts";
import {
  dispatchOf,
  namedDispatch,
  nextTry,
  sortWebhooks,
  type ReadWebhooks,
} from "./sort-webhooks.ts";

/** A webhook that cannot be applied indicates a bug. It is retried for a day, then kept as unread. */
const failing_kept_ms = 86_400_000;

/**
 * Applies the rows; when that fails, applies each that is left separately, so that a bad row delays no other. A batch whose
 * statement takes too long counts as failed, so that it is not repeated whole: each attempt deletes, splits or postpones a
 * row. The lease is renewed meanwhile, however long that takes.
 */
export async function applyBatch(
  app: App,
  lease: Lease,
  number: InboxNumber,
  rows: readonly StoredWebhooks[],
): Promise<void> {
  try {
    await applyTogether(app, lease, number, rows);
  } catch (error) {
    if (isLeaseLost(error)) throw error;
    if (isDatabaseUnavailable(error) && !isOfOneStatement(error)) throw error;
    if (rows.length === 1) return postpone(app, number, rows[0]!, error);
    // A side effect fails after the other rows are deleted, with a copy of what is applied later.
    const ids = rows.map(({ id }) => id);
    const left = new Set<number>();
    for (const { id } of await findLeft(app.db.pool, [number.account_id, ids])) left.add(id);
    // Then what follows the deletion has failed, which is not repeated.
    if (left.size === 0) throw error;
    for (const one of rows) if (left.has(one.id)) await applyBatch(app, lease, number, [one]);
  }
}

const findLeft = statement<{ id: number }>(
  "select id from chat_inbox where account_id = $1 and id = any ($2)",
);

async function applyTogether(
  app: App,
  lease: Lease,
  number: InboxNumber,
  rows: readonly StoredWebhooks[],
): Promise<void> {
  const { account_id, chat_number_id } = number;
  const read = rows.map((row) => ({ row, events: readWebhooks(app, row) }));
  const batch = await withoutErasedReplies(app.db.pool, account_id, read);
  const now = app.clock.now();
  const byProviderId = await findDispatches(app, account_id, batch);
  const failed = failedDispatches(batch, { account_id, byProviderId });
  const failures = await openFailureDecisions(app, account_id, failed);
  const sorted = sortWebhooks(batch, {
    account_id,
    now,
    byProviderId,
    consentOf: await readConsentReader(app, account_id, batch),
    failureOf: failures.failureOf,
  });
  const side_effects = sorted.side_effects.flatMap((row) => row.side_effects);
  const consent_links = await findConsentLinks(app.db.pool, account_id, side_effects);
  await recordLinks(app, account_id, [...sorted.links, ...consent_links], now);
  await applyFailureEffects(app, account_id, failures.effects);
  const moved = await applyWebhooks(app.db.pool, [
    account_id,
    chat_number_id,
    lease.fence,
    JSON.stringify(sorted.moves),
    JSON.stringify(replyRows(sorted.replies, false)),
    sorted.done,
    JSON.stringify(sorted.later),
    now,
    JSON.stringify(sorted.answers),
  ]);
  if (sorted.dropped > 0)
    app.log.warn(
      { account_id, subject_id: chat_number_id, count: sorted.dropped },
      "dropped delivery statuses of unknown messages",
    );
  for (const row of sorted.side_effects) await applySideEffects(app, number, row);
  if (moved.some(({ to_state }) => to_state === "deferred")) {
    const deferred = sorted.moves.filter(({ state }) => state === "deferred");
    await skipDeferredDuplicates(app, account_id, deferred);
    wakeSenders(app, account_id, [chat_number_id]);
  }
  const campaigns = moved.filter(({ from_state }) => open_states.has(from_state));
  if (campaigns.length > 0)
    await completeChatCampaigns(
      app,
      account_id,
      campaigns.map(({ campaign_id }) => campaign_id),
    );
}

/** A recipient in one of these states may have been the last pending one of its campaign. */
const open_states: ReadonlySet<RecipientState> = new Set([
  "queued",
  "deferred",
  "dispatching",
  "unknown",
]);

const applyWebhooks = statement<{
  campaign_id: number;
  from_state: RecipientState;
  to_state: RecipientState;
}>(
  "select campaign_id, from_state, to_state from apply_chat_webhooks($1, $2, $3, $4, $5, $6, $7, $8, $9)",
);

/** Returns the dispatches that statuses report as failed. */
function failedDispatches(
  batch: readonly ReadWebhooks[],
  known: Parameters<typeof dispatchOf>[0],
): Dispatch[] {
  return batch.flatMap(({ events }) =>
    events
      .flat()
      .flatMap((event) =>
        event.kind === "status" && event.status === "failed"
          ? (dispatchOf(known, event) ?? [])
          : [],
      ),
  );
}

/** Returns the dispatches of statuses without our message ID. */
async function findDispatches(
  app: App,
  accountId: number,
  batch: readonly ReadWebhooks[],
): Promise<ReadonlyMap<string, Dispatch>> {
  const ids = batch.flatMap(({ events }) =>
    events
      .flat()
      .flatMap((event) =>
        event.kind === "status" &&
        !namedDispatch(accountId, event) &&
        !answerStatus(accountId, event)
          ? event.provider_message_id
          : [],
      ),
  );
  if (ids.length === 0) return new Map();
  const rows = await findByProviderId(app.db.pool, [accountId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.provider_message_id, row]));
}

const findByProviderId = statement<Dispatch & { provider_message_id: string }>(`
  select provider_message_id, campaign_id, id as recipient_id, dispatches from chat_recipients
  where account_id = $1 and provider_message_id = any ($2)`);

/**
 * Records the phones of BSUIDs, before the events that may name only one of them. Recipients are skipped before, so that
 * a repeated batch skips them, and after: a creation that commits later finds the links itself.
 */
async function recordLinks(
  app: App,
  accountId: number,
  links: readonly BsuidLink[],
  now: Date,
): Promise<void> {
  const new_links = await findNewLinks(app.db.pool, accountId, links);
  if (new_links.length === 0) return;
  await skipDuplicatesOf(app, accountId, new_links);
  await app.db.query.transaction().execute((tx) => linkBsuids(tx, accountId, links, now));
  await skipDuplicatesOf(app, accountId, new_links);
}

/** Reads the account's stop words only when there is a reply. */
async function readConsentReader(
  app: App,
  accountId: number,
  batch: readonly ReadWebhooks[],
): Promise<ReturnType<typeof openConsentReader>> {
  const hasReplies = batch.some(({ events }) => events.flat().some(({ kind }) => kind === "reply"));
  if (!hasReplies) return () => null;
  const account = await app.db.query
    .selectFrom("accounts")
    .select("chat_stop_words")
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  return openConsentReader(account?.chat_stop_words ?? []);
}

/** Splits webhooks that share a row; postpones a single one, and keeps it as unread after a day. */
async function postpone(
  app: App,
  { account_id, chat_number_id }: InboxNumber,
  { id, body, received_at }: StoredWebhooks,
  err: unknown,
): Promise<void> {
  if (body.length > 1) return void (await splitRow(app.db.pool, [account_id, id]));
  const due_at = nextTry(received_at, app.clock.now(), failing_kept_ms);
  app.log.error(
    { err, account_id, subject_id: chat_number_id },
    due_at
      ? "a webhook cannot be applied; trying again later"
      : "a webhook could not be applied for a day; kept as unread",
  );
  if (due_at) await delay(app.db.pool, [account_id, id, due_at]);
  else await giveUp(app.db.pool, [account_id, id]);
}

const splitRow = statement(`
  with gone as (delete from chat_inbox where account_id = $1 and id = $2 returning *)
  insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
  select g.account_id, g.chat_number_id, g.driver, json_build_array(b.value), g.received_at, g.due_at
  from gone g, json_array_elements(g.body) b`);
const delay = statement("update chat_inbox set due_at = $3 where account_id = $1 and id = $2");
const giveUp = statement(`
  with gone as (delete from chat_inbox where account_id = $1 and id = $2 returning *)
  insert into chat_unread_webhooks (account_id, chat_number_id, driver, body, reason, received_at)
  select g.account_id, g.chat_number_id, g.driver, b.value, 'could not be applied', g.received_at
  from gone g, json_array_elements(g.body) b`);
