// Recipients of chat campaigns: pending ones are skipped and their credit released, then all are emptied. No
// index contains all their phone numbers, so the account's recipients are scanned in pages.
import { completeChatCampaigns } from "../../chat/campaigns/complete-chat-campaigns.ts";
import { moveRecipients } from "../../chat/recipients/move-recipients.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { scan_rows, type Part, type Person, type RecipientRef } from "./part.ts";
import { readPage, type Page } from "./read-page.ts";

/** A message whose outcome is unknown may take an hour to settle. */
const wait_ms = 10_000;

/** Scans all recipients, and records those with a message in flight. */
export const scanChatRecipients: Part = async ({ app, person, progress, write }) => {
  const { account_id, spellings, bsuids } = person;
  const [campaign_id, id] = (progress.at ?? [0, 0]) as RecipientRef;
  const values = [account_id, campaign_id, id, scan_rows, spellings, bsuids];
  const { found, next } = await readPage(app, findChatRecipients, values, scan_rows);
  const step = await write(async (tx, now) => {
    const { erased, open } = await eraseRecipients(tx, person, found, now);
    return {
      at: next,
      counts: { recipients: erased },
      chat: [...progress.chat, ...open],
    };
  });
  await complete(app, account_id, found);
  return step;
};

/** Repeats until no message to the person is in flight. */
export const awaitChatRecipients: Part = async ({ app, person, progress, write }) => {
  const step = await write(async (tx, now) => {
    const { erased, open } = await eraseRecipients(tx, person, progress.chat, now);
    const rest =
      open.length > 0 ? { at: "waiting", wait_ms, waiting_for: "message" as const } : { at: null };
    return { ...rest, counts: { recipients: erased }, chat: open };
  });
  await complete(app, person.account_id, progress.chat);
  return step;
};

/** Completes campaigns without pending recipients; if this is lost, their senders complete them. */
async function complete(
  app: Parameters<typeof completeChatCampaigns>[0],
  accountId: number,
  recipients: readonly RecipientRef[],
): Promise<void> {
  const ids = recipients.map(([campaign_id]) => campaign_id);
  if (ids.length > 0) await completeChatCampaigns(app, accountId, ids);
}

/** Returns how many were emptied, and those with a message in flight. */
async function eraseRecipients(
  tx: Tx,
  { account_id, spellings, bsuids }: Person,
  recipients: readonly RecipientRef[],
  now: Date,
): Promise<{ erased: number; open: RecipientRef[] }> {
  const moves = [];
  for (const [campaign_id, id] of recipients) {
    // All before the balance, which a move locks, as delivery statuses do.
    const row = await tx
      .selectFrom("chat_recipients")
      .select(["state", "dispatches"])
      .where("account_id", "=", account_id)
      .where("campaign_id", "=", campaign_id)
      .where("id", "=", id)
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!row || !["queued", "deferred"].includes(row.state)) continue;
    const { dispatches } = row;
    moves.push({ campaign_id, id, dispatches, state: "skipped", error: "erased" } as const);
  }
  if (moves.length > 0) await moveRecipients(tx, account_id, moves, now);
  const open: RecipientRef[] = [];
  let erased = 0;
  for (const recipient of recipients) {
    const [row] = await emptyRecipient(tx, [account_id, ...recipient, spellings, bsuids]);
    if (row?.is_open) open.push(recipient);
    else if (row) erased++;
  }
  return { erased, open };
}

const findChatRecipients = statement<Page<RecipientRef>>(`
  with page as materialized (
    select r.campaign_id, r.id, r.phone, r.bsuid from chat_recipients r
    where r.account_id = $1 and (r.campaign_id, r.id) > ($2, $3)
    order by r.campaign_id, r.id limit $4
  )
  select
    (select coalesce(json_agg(json_build_array(p.campaign_id, p.id) order by p.campaign_id, p.id), '[]')
      from page p where p.phone = any ($5::text[]) or p.bsuid = any ($6::text[])) as found,
    (select json_build_array(p.campaign_id, p.id) from page p order by p.campaign_id desc, p.id desc limit 1) as last,
    (select count(*)::int from page) as rows`);

// The provider's message id contains the number, too. Later delivery statuses refer to our own message id, and would
// add the provider's where none is stored.
const emptyRecipient = statement<{ is_open: boolean }>(`
  with found as materialized (
    select r.id, r.state in ('queued', 'deferred', 'dispatching', 'unknown') as is_open
    from chat_recipients r
    where r.account_id = $1 and r.campaign_id = $2 and r.id = $3 and (r.phone = any ($4::text[]) or r.bsuid = any ($5::text[]))
    for no key update
  ), emptied as (
    update chat_recipients r set phone = '', bsuid = null, variables = null,
      provider_message_id = 'erased.' || r.campaign_id || '.' || r.id
    from found f
    where r.account_id = $1 and r.campaign_id = $2 and r.id = f.id and not f.is_open
  )
  select is_open from found`);
