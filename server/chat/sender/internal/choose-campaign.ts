// Chooses the campaign to serve next, and whether the sender should keep its lease.
import { quietUntil } from "../../../accounts/accounts/quiet-time.ts";
import { inFlightMax, type CampaignWork, type Sender } from "./sender.ts";
import { setWorkAt } from "./sender-statements.ts";

/**
 * The sender waits for a deferred recipient that is due sooner; for a later one it releases the
 * lease.
 */
const linger_ms = 5_000;
const held_look_ms = 60_000;
const unknown_look_ms = 3_600_000;

/**
 * Returns the campaign to serve next: the one in its round, then one that had the fewest rounds, so that no campaign waits
 * for another to end. Rounds are of messages, because batches vary in size.
 */
export function nextCampaign(sender: Sender): CampaignWork | null {
  if (!maySend(sender)) return null;
  const workable = [...sender.campaigns.values()].filter((work) => isWorkable(sender, work));
  const round = roundOf(sender);
  const rounds = ({ served }: CampaignWork) => Math.floor(served / round);
  const next = workable.reduce<CampaignWork | null>((best, work) => {
    const fewer = best ? rounds(best) - rounds(work) : 1;
    return fewer > 0 || (fewer === 0 && work.served > best!.served) ? work : best;
  }, null);
  // A campaign that was idle does not catch up later.
  for (const work of sender.campaigns.values())
    if (next && !isWorkable(sender, work)) work.served = Math.max(work.served, next.served);
  return next;
}

/** Returns where a campaign that is new to the sender begins: its first batch comes next, and one batch only. */
export function firstServed(sender: Sender): number {
  const round = roundOf(sender);
  const served = [...sender.campaigns.values()].map((work) => work.served);
  const lowest = served.length === 0 ? 0 : Math.min(...served);
  return (Math.floor(lowest / round) + 1) * round - 1;
}

/**
 * Returns how many messages of a campaign are sent in a row: a second's, and no more than fit in flight. The results of a
 * batch are then of few campaigns, for each of which counts and credit are written.
 */
function roundOf(sender: Sender): number {
  return Math.min(inFlightMax(sender), sender.number.rate_per_second);
}

/** Returns whether any campaign has something to send, as of the last poll. */
export function hasWork(sender: Sender): boolean {
  return [...sender.campaigns.values()].some((work) => isWorkable(sender, work));
}

/**
 * Returns whether something is due soon; if not, schedules the next poll of each campaign, and the
 * lease can be released.
 */
export async function isWorthWaiting(sender: Sender): Promise<boolean> {
  const now = sender.app.clock.now();
  const polls = [...sender.campaigns.values()].map((work) => ({
    latest: work.latest,
    next: new Date(lookAgainAt(sender, work, now)),
  }));
  if (polls.some(({ next }) => next.getTime() < now.getTime() + linger_ms)) return true;
  await setWorkAt(sender.app, sender.lease.account_id, polls);
  return false;
}

/**
 * Returns whether the number may send now: it is active, its driver is available, and it is not
 * quiet time.
 */
function maySend({ app, number, driver }: Sender): boolean {
  return number.active && driver !== undefined && quietUntil(number, app.clock.now()) === null;
}

function isWorkable({ app }: Sender, { latest, dry }: CampaignWork): boolean {
  if (latest.held || dry) return false;
  const isDue = latest.next_due_at !== null && latest.next_due_at <= app.clock.now();
  return latest.queued > 0 || isDue;
}

/** In milliseconds since the epoch. */
function lookAgainAt(sender: Sender, { latest }: CampaignWork, now: Date): number {
  const quiet = quietUntil(sender.number, now);
  if (quiet) return quiet.getTime();
  if (latest.held || !maySend(sender)) return now.getTime() + held_look_ms;
  if (latest.queued > 0) return now.getTime();
  return latest.next_due_at?.getTime() ?? now.getTime() + unknown_look_ms;
}
