import { statement, type Executor } from "../../lib/database/database.ts";
import type { BsuidLink } from "../../audience/suppressions/link-bsuids.ts";
import { moveRecipients, type Moved } from "./move-recipients.ts";
import type { RecipientState } from "./recipient-states.ts";

type Address = {
  readonly id: number;
  readonly state: RecipientState;
  readonly dispatches: number;
};
type Pair = { readonly campaign_id: number; readonly bsuid: Address; readonly phone: Address };

const findPairs = statement<Pair>(`
  select b.campaign_id, json_build_object('id', b.id, 'state', b.state, 'dispatches', b.dispatches) as bsuid,
    json_build_object('id', p.id, 'state', p.state, 'dispatches', p.dispatches) as phone
  from unnest($2::text[], $3::text[]) l (bsuid, phone)
  cross join lateral (
    select r.campaign_id, r.id, r.state, r.dispatches from chat_recipients r
    where r.account_id = $1 and r.bsuid = l.bsuid) b
  cross join lateral (
    select r.id, r.state, r.dispatches from chat_recipients r
    where r.account_id = $1 and r.campaign_id = b.campaign_id and r.phone = any (phone_spellings(l.phone))) p
  where b.state in ('queued', 'deferred') or p.state in ('queued', 'deferred')`);

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
  const pairs = await findPairs(db, [
    accountId,
    links.map(({ bsuid }) => bsuid),
    links.map(({ phone }) => phone),
  ]);
  const moves = pairs.flatMap((pair) => {
    const second = secondOf(pair);
    if (!second) return [];
    const { id, dispatches } = second;
    const { campaign_id } = pair;
    return [{ campaign_id, id, dispatches, state: "skipped", error: "duplicate" } as const];
  });
  return moves.length === 0 ? [] : moveRecipients(db, accountId, moves, now);
}

function secondOf({ bsuid, phone }: Pair): Address | null {
  if (waiting.has(bsuid.state)) return without_message.has(phone.state) ? null : bsuid;
  return without_message.has(bsuid.state) ? null : phone;
}
