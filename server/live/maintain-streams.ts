// Maintains all streams of the process every second: heartbeats with a token check, the poll for new events,
// and campaign progress.
import { visibleTypes, includesProgress } from "./event-audience.ts";
import type { Snapshot } from "./campaign-progress.ts";
import { announceEvents, readersOf, type Account, type Hub, type Reader } from "./event-hub.ts";
import { readEventHeads } from "./read-events-page.ts";

const poll_ms = 1_000;
export const heartbeat_ms = 15_000;
/** A reader that has stalled for this long is disconnected. */
export const stalled_max_ms = 60_000;
/** Accounts whose campaigns are refreshed concurrently. */
const refresh_lanes = 4;

/** Schedules the next tick; ticks repeat while there are streams. */
export function scheduleTick(hub: Hub): void {
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
    else if (now_ms >= reader.check_at_ms) void checkAndBeat(hub, reader);
    // Retries failed reads.
    else reader.stream.wake();
  }
  if (!hub.polling) void poll(hub);
  scheduleTick(hub);
}

async function checkAndBeat(hub: Hub, reader: Reader): Promise<void> {
  reader.check_at_ms = hub.timers.now() + heartbeat_ms;
  await checkToken(hub, reader);
  reader.stream.sendHeartbeat();
}

/** Compares the heads, because notifications may be lost, and refreshes campaigns, which have none. */
async function poll(hub: Hub): Promise<void> {
  hub.polling = true;
  try {
    const heads = await readEventHeads(hub.app.db.pool, [...hub.accounts.keys()]);
    for (const account of hub.accounts.values())
      if ((heads.get(account.id) ?? 0) !== account.head) announceEvents(account);
    await refreshCampaigns(hub);
    hub.failures.succeeded();
  } catch (err) {
    hub.failures.failed(err);
  } finally {
    hub.polling = false;
  }
}

/** Returns whether any reader of the account receives campaign progress. */
export function hasProgressReaders({ readers }: Account): boolean {
  return [...readers].some(({ types }) => includesProgress(types));
}

async function refreshCampaigns(hub: Hub): Promise<void> {
  const mayHaveChanged = ({ progress, revision, campaigns_revision }: Account) =>
    revision !== campaigns_revision || progress.mayChange();
  const accounts = [...hub.accounts.values()]
    .filter((account) => hasProgressReaders(account) && mayHaveChanged(account))
    .values();
  const work = async () => {
    for (const account of accounts) {
      const { revision, progress } = account;
      const snapshots = await progress.refresh();
      // All readers were replaced during the refresh: the new ones have their own progress.
      if (progress !== account.progress) continue;
      sendProgress(snapshots, account.readers);
      account.campaigns_revision = revision;
    }
  };
  // Waits for every lane even if one fails, so that refreshes of an account never overlap.
  const ended = await Promise.allSettled(Array.from({ length: refresh_lanes }, work));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}

/** Sends snapshots to the readers; each stream filters by its types. */
export function sendProgress(snapshots: readonly Snapshot[], readers: Iterable<Reader>): void {
  for (const { stream } of readers)
    for (const { type, campaign, frame } of snapshots) stream.sendProgress(type, campaign, frame);
}

/** Checks the reader's token and permissions again; if that fails, the stream sends nothing until it succeeds. */
export async function checkToken(hub: Hub, reader: Reader): Promise<void> {
  const { listener, stream } = reader;
  reader.checks += 1;
  const check = reader.checks;
  const isLast = () => check === reader.checks;
  try {
    const caller = await listener.reauthenticate();
    if (!isLast()) return;
    if (caller === null) return stream.end("unauthorized");
    const types = visibleTypes(caller, listener.types);
    if (types.size === 0) return stream.end("forbidden");
    reader.types = types;
    stream.setTypes(types);
  } catch (err) {
    if (!isLast()) return;
    // Debug: during a database outage this happens to every stream, and the poll logs the outage.
    hub.app.log.debug({ err }, "could not check a stream's token; retrying");
    stream.setTypes(null);
    reader.check_at_ms = hub.timers.now();
  }
}
