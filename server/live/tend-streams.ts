// What is done for all readers every second: heartbeats with a check of the token, the poll, campaigns.
import { heardBy, hearsProgress } from "./event-audience.ts";
import type { Snapshot } from "./campaign-progress.ts";
import { hearNews, readersOf, type Account, type Hub, type Reader } from "./hub.ts";
import { readEventHeads } from "./read-events-page.ts";

const poll_ms = 1_000;
export const heartbeat_ms = 15_000;
/** Whoever takes nothing for so long is cut. */
export const stalled_max_ms = 60_000;
/** Accounts whose campaigns are looked at together. */
const look_lanes = 4;

/** Keeps the second going while there are streams. */
export function tickLater(hub: Hub): void {
  if (hub.ticking) return;
  hub.ticking = true;
  hub.timers.schedule(() => {
    hub.ticking = false;
    if (hub.streams > 0) tick(hub);
  }, poll_ms);
}

function tick(hub: Hub): void {
  const now_ms = hub.timers.now();
  for (const reader of readersOf(hub)) {
    if (reader.stream.stalledMs() >= stalled_max_ms) reader.stream.end();
    else if (now_ms >= reader.check_at_ms) void beat(hub, reader);
    // Also what failed to read.
    else reader.stream.wake();
  }
  if (!hub.polling) void poll(hub);
  tickLater(hub);
}

async function beat(hub: Hub, reader: Reader): Promise<void> {
  reader.check_at_ms = hub.timers.now() + heartbeat_ms;
  await check(hub, reader);
  reader.stream.beat();
}

/** Notifications may be lost: the heads are compared; and what has no notification is looked at. */
async function poll(hub: Hub): Promise<void> {
  hub.polling = true;
  try {
    const heads = await readEventHeads(hub.app.db.pool, [...hub.accounts.keys()]);
    for (const account of hub.accounts.values())
      if ((heads.get(account.id) ?? 0) !== account.head) hearNews(account);
    await lookAtCampaigns(hub);
  } catch (err) {
    hub.app.log.warn({ err }, "the streams' poll failed; trying again");
  } finally {
    hub.polling = false;
  }
}

/** Whether anybody hears how its campaigns go on. */
export function isFollowed({ readers }: Account): boolean {
  return [...readers].some(({ types }) => hearsProgress(types));
}

async function lookAtCampaigns(hub: Hub): Promise<void> {
  const mayHaveMoved = ({ progress, news, looked_news }: Account) =>
    news !== looked_news || progress.moves();
  const accounts = [...hub.accounts.values()]
    .filter((account) => isFollowed(account) && mayHaveMoved(account))
    .values();
  const work = async () => {
    for (const account of accounts) {
      const { news, progress } = account;
      const snapshots = await progress.look();
      // Meanwhile the last who heard of them left, and another came: theirs begins anew.
      if (progress !== account.progress) continue;
      tell(snapshots, account.readers);
      account.looked_news = news;
    }
  };
  // All of them come to their end: an account is looked at once at a time.
  const ended = await Promise.allSettled(Array.from({ length: look_lanes }, work));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}

/** To those of the readers who hear of them. */
export function tell(snapshots: readonly Snapshot[], readers: Iterable<Reader>): void {
  for (const { stream } of readers)
    for (const { type, campaign, frame } of snapshots) stream.progress(type, campaign, frame);
}

/** Asks again who listens. While that cannot be told, nothing is. */
export async function check(hub: Hub, reader: Reader): Promise<void> {
  const { listener, stream } = reader;
  reader.checks += 1;
  const turn = reader.checks;
  const isLast = () => turn === reader.checks;
  try {
    const caller = await listener.again();
    if (!isLast()) return;
    if (caller === null) return stream.end("unauthorized");
    const types = heardBy(caller, listener.types);
    if (types.size === 0) return stream.end("forbidden");
    reader.types = types;
    stream.show(types);
  } catch (err) {
    if (!isLast()) return;
    // When the database is away, of every stream: the poll tells of that.
    hub.app.log.debug({ err }, "a stream's token could not be checked; trying again");
    stream.show(null);
    reader.check_at_ms = hub.timers.now();
  }
}
