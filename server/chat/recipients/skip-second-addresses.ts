import { statement, type Executor } from "../../lib/database/database.ts";
import { phoneKey, phoneSpellings } from "../../lib/phone-key.ts";
import type { BsuidLink } from "../../audience/suppressions/link-bsuids.ts";
import { moveRecipients, type Moved } from "./move-recipients.ts";
import type { RecipientState } from "./recipient-states.ts";

type Address = {
  readonly campaign_id: number;
  readonly id: number;
  readonly state: RecipientState;
  readonly dispatches: number;
};

const findByBsuid = statement<Address & { readonly bsuid: string }>(`
  select campaign_id, id, state, dispatches, bsuid from chat_recipients
  where account_id = $1 and bsuid = any ($2::text[])`);

const findByPhone = statement<Address & { readonly phone: string }>(`
  select campaign_id, id, state, dispatches, phone from chat_recipients
  where account_id = $1 and campaign_id = any ($2::bigint[]) and phone = any ($3::text[])`);

const waiting: ReadonlySet<RecipientState> = new Set(["queued", "deferred"]);
const without_message: ReadonlySet<RecipientState> = new Set([
  "refused",
  "undelivered",
  "skipped",
  "cancelled",
]);

/**
 * Skips recipients whose person is in the same campaign under another address, which new links show: the BSUID waits no
 * longer if the phone waits or has the message, and the reverse. Returns which were skipped.
 */
export async function skipSecondAddresses(
  db: Executor,
  accountId: number,
  links: readonly BsuidLink[],
  now: Date,
): Promise<Moved[]> {
  const by_bsuid = await findByBsuid(db, [accountId, links.map(({ bsuid }) => bsuid)]);
  if (by_bsuid.length === 0) return [];
  const campaigns = by_bsuid.map(({ campaign_id }) => campaign_id);
  const spellings = links.flatMap(({ phone }) => phoneSpellings(phone));
  const by_phone = await findByPhone(db, [accountId, [...new Set(campaigns)], spellings]);
  const keyOf = new Map(links.map(({ bsuid, phone }) => [bsuid, phoneKey(phone)]));
  const moves = by_bsuid.flatMap((bsuid) =>
    by_phone
      .filter(({ campaign_id }) => campaign_id === bsuid.campaign_id)
      .filter(({ phone }) => phoneKey(phone) === keyOf.get(bsuid.bsuid))
      .flatMap((phone) => secondOf(bsuid, phone) ?? [])
      .map(({ campaign_id, id, dispatches }) => {
        return { campaign_id, id, dispatches, state: "skipped", error: "duplicate" } as const;
      }),
  );
  return moves.length === 0 ? [] : moveRecipients(db, accountId, moves, now);
}

function secondOf(bsuid: Address, phone: Address): Address | null {
  if (waiting.has(bsuid.state)) return without_message.has(phone.state) ? null : bsuid;
  return waiting.has(phone.state) && !without_message.has(bsuid.state) ? phone : null;
}
