// The progress of an account's campaigns: snapshots of those that changed since the last refresh. Open ones are
// followed, and chat campaigns for a day after their end, because messages are delivered and read later.
import { quietUntil, type QuietTime } from "../accounts/accounts/quiet-time.ts";
import { shown_states, storedStates } from "../chat/campaigns/campaign-record-schema.ts";
import { countOfState, recipientStates } from "../chat/recipients/recipient-states.ts";
import type { App } from "../engine/app.ts";
import { statement } from "../lib/database/database.ts";
import { recipient_states } from "../voice/campaigns/campaign-record-schema.ts";
import type { ProgressType } from "./event-audience.ts";
import { eventFrame } from "./event-frame.ts";

/** The number of open campaigns followed, the newest ones, of chat and of voice each. */
const campaigns_max = 200;
/** The number of ended chat campaigns followed, and for how long. */
const ended_max = 20;
const ended_ms = 86_400_000;

/** The progress of one campaign as an SSE frame. */
export type Snapshot = {
  readonly type: ProgressType;
  /** Unique among the account's chat and voice campaigns. */
  readonly campaign: string;
  readonly frame: string;
};

export type CampaignProgress = {
  /** Returns whether counts can change without an event, which those of scheduled campaigns do not. */
  mayChange(): boolean;
  /** Reads the campaigns that are followed or were until now, and returns the changed snapshots. */
  refresh(): Promise<Snapshot[]>;
  /** Returns the snapshots of the campaigns that are followed, as of the last refresh. */
  latest(): Snapshot[];
};

type Row = QuietTime & {
  type: ProgressType;
  campaign_id: number;
  public_id: string | null;
  state: "scheduled" | "running" | "completed" | "cancelled" | "failed";
  is_followed: boolean;
  total: number;
  held: boolean;
  counts: Record<string, number>;
};

const chat_sums = recipientStates
  .map((state) => `'${state}', coalesce(sum(${state}), 0)`)
  .join(", ");
const voice_sums = recipient_states
  .map((state) => `'${state}', coalesce(sum(${state}), 0)`)
  .join(", ");

// Chat and voice in one statement, because it runs once a second. `held` has the meaning of statusOf in each
// feature's campaign-records.ts. The limits are literal, so that the planner knows how little it reads.
const readFollowed = statement<Row>(`
  select v.*, a.time_zone, a.chat_quiet_from, a.chat_quiet_to
  from accounts a
  cross join lateral (
    select 'chat.campaign.progress' as type, c.id as campaign_id, null::uuid as public_id, c.state,
      k.is_followed, c.total,
      exists (
        select from chat_holds h
        where h.account_id = $1
          and ((h.scope = 'campaign' and h.subject_id = c.id)
            or (c.state = 'running' and ((h.scope = 'template' and h.subject_id = c.template_id)
              or (h.scope = 'number' and h.subject_id = c.chat_number_id)
              or h.scope = 'account')))) as held,
      (select json_build_object(${chat_sums}) from chat_counts n
        where n.account_id = $1 and n.campaign_id = c.id) as counts
    from (
      select n.id, bool_or(n.is_followed) as is_followed
      from (
        (select id, true as is_followed from chat_campaigns
          where account_id = $1 and finished_at is null order by id desc limit ${campaigns_max})
        union all
        (select id, true from chat_campaigns
          where account_id = $1 and finished_at > $4 order by finished_at desc limit ${ended_max})
        union all
        select unnest($2::bigint[]), false) n
      group by n.id) k
    join chat_campaigns c on c.account_id = $1 and c.id = k.id
    union all
    select 'voice.campaign.progress', c.id, c.public_id, c.state, c.finished_at is null, c.total,
      exists (
        select from voice_holds h where h.account_id = $1 and h.campaign_id = c.id),
      (select json_build_object(${voice_sums}) from voice_counts n
        where n.account_id = $1 and n.campaign_id = c.id)
    from (
      (select * from voice_campaigns
        where account_id = $1 and finished_at is null and not is_test
        order by id desc limit ${campaigns_max})
      union all
      (select * from voice_campaigns
        where account_id = $1 and id = any ($3) and finished_at is not null)) c
  ) v
  where a.account_id = $1`);

type Seen = { readonly row: Row; readonly text: string; readonly snapshot: Snapshot };

/** Follows the campaigns of an account. Refreshes must not overlap. */
export function followCampaigns(app: App, accountId: number): CampaignProgress {
  let seen: ReadonlyMap<string, Seen> = new Map();
  const idsOf = (type: ProgressType) =>
    [...seen.values()].filter(({ row }) => row.type === type).map(({ row }) => row.campaign_id);
  const update = (row: Row, now: Date): Seen => {
    const campaign = `${row.type} ${row.campaign_id}`;
    const known = seen.get(campaign);
    const data = dataOf(row, now);
    const text = JSON.stringify(data);
    if (known?.text === text) return { ...known, row };
    const body = JSON.stringify({ type: row.type, timestamp: now.toISOString(), data });
    const frame = eventFrame({ event: row.type, data: body });
    return { row, text, snapshot: { type: row.type, campaign, frame } };
  };
  return {
    mayChange: () => [...seen.values()].some(({ row }) => row.state !== "scheduled"),
    latest: () => [...seen.values()].map(({ snapshot }) => snapshot),
    async refresh() {
      const ids = [idsOf("chat.campaign.progress"), idsOf("voice.campaign.progress")];
      const now = app.clock.now();
      const followed_from = new Date(now.getTime() - ended_ms);
      const rows = await readFollowed(app.db.pool, [accountId, ...ids, followed_from]);
      const found = rows.map((row) => update(row, now));
      const changed = found.filter(
        ({ snapshot }) => seen.get(snapshot.campaign)?.snapshot !== snapshot,
      );
      const followed = found.filter(({ row }) => row.is_followed);
      seen = new Map(followed.map((one) => [one.snapshot.campaign, one]));
      return changed.map(({ snapshot }) => snapshot);
    },
  };
}

function dataOf(row: Row, now: Date) {
  const { campaign_id, total } = row;
  const status = statusOf(row, now);
  if (row.type === "voice.campaign.progress") {
    const { synthesizing = 0, waiting = 0, calling = 0 } = row.counts;
    const percent = percentOf(total, synthesizing + waiting + calling);
    return { campaign_id, id: row.public_id, status, percent, total, counts: row.counts };
  }
  const sumOf = (states: readonly string[]) =>
    states.reduce((sum, state) => sum + (row.counts[state] ?? 0), 0);
  const pending = recipientStates.filter((state) => countOfState[state] === "pending");
  const counts = Object.fromEntries(
    shown_states.map((shown) => [shown, sumOf(storedStates(shown))]),
  );
  return { campaign_id, status, percent: percentOf(total, sumOf(pending)), total, counts };
}

/** Returns the status that the campaign's record shows. */
function statusOf(row: Row, now: Date): string {
  const isQuiet =
    row.type === "chat.campaign.progress" && row.state === "running" && quietUntil(row, now);
  const canPause = row.state === "running" || row.state === "scheduled";
  return canPause && (row.held || isQuiet) ? "paused" : row.state;
}

/** Returns the share of finished recipients in whole percent, rounded down, so that 100 means all. */
function percentOf(total: number, pending: number): number {
  return total === 0 ? 100 : Math.floor(((total - pending) / total) * 100);
}
