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

// Campaigns that have ended send nothing more.
const findByBsuid = statement<Address & { readonly bsuid: string }>(`
  select r.campaign_id, r.id, r.state, r.dispatches, r.bsuid from chat_recipients r
  join chat_campaigns c on c.account_id = $1 and c.id = r.campaign_id and c.finished_at is null
  where r.account_id = $1 and r.bsuid = any ($2::text[])`);

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
 * Skips recipients whose person is in the same campaign under another address, which links show: of each person's
 * addresses that wait, all if another has or may have the message, else all but one, preferably the phone. Returns which
 * were skipped.
 */
export async function skipSecondAddresses(
  db: Executor,
  accountId: number,
  links: readonly BsuidLink[],
  now: Date,
): Promise<Moved[]> {
  if (links.length === 0) return [];
  const by_bsuid = await findByBsuid(db, [accountId, links.map(({ bsuid }) => bsuid)]);
  if (by_bsuid.length === 0) return [];
  const campaigns = new Set(by_bsuid.map(({ campaign_id }) => campaign_id));
  const spellings = links.flatMap(({ phone }) => phoneSpellings(phone));
  const by_phone = await findByPhone(db, [accountId, [...campaigns], spellings]);
  const keys = new Map(links.map(({ bsuid, phone }) => [bsuid, phoneKey(phone)]));
  const addresses = [
    ...by_phone.map((address) => ({ ...address, key: phoneKey(address.phone) })),
    ...by_bsuid.map((address) => ({ ...address, key: keys.get(address.bsuid) })),
  ];
  const people = Map.groupBy(addresses, ({ campaign_id, key }) => `${campaign_id}:${key}`);
  const moves = [...people.values()]
    .flatMap(secondAddresses)
    .map(
      ({ campaign_id, id, dispatches }) =>
        ({ campaign_id, id, dispatches, state: "skipped", error: "duplicate" }) as const,
    );
  return moves.length === 0 ? [] : moveRecipients(db, accountId, moves, now);
}

/** Returns which of a person's addresses in a campaign are to be skipped. */
function secondAddresses(addresses: readonly Address[]): readonly Address[] {
  const waits = addresses.filter(({ state }) => waiting.has(state));
  const others = addresses.filter(({ state }) => !waiting.has(state));
  return others.some(({ state }) => !without_message.has(state)) ? waits : waits.slice(1);
}
