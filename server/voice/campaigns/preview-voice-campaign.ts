// A dry run of a launch, which creates nothing: its recipients, cost and schedule.
import type { Kysely } from "kysely";
import type { Caller } from "../../accounts/caller.ts";
import {
  callableFor,
  customerCallableFrom,
  type CallingWindow,
} from "../../accounts/accounts/calling-window.ts";
import type { Rejects } from "../../audience/intake/open-intake.ts";
import type { RecipientSource } from "../../audience/recipients/recipient-source.ts";
import { call_outreach, suppressedAmong } from "../../audience/suppressions/suppressions.ts";
import { availableCredits } from "../../credits/credits.ts";
import type { App } from "../../engine/app.ts";
import type { DB } from "../../lib/database/database.ts";
import { phoneKey } from "../../lib/phone-key.ts";
import { phoneTimeZones, splitTimeZones } from "../../lib/phone-time-zones/phone-time-zones.ts";
import { findContactZones } from "./intake/contact-zones.ts";
import { noRecipients } from "./internal/no-recipients.ts";
import { requireTrunk } from "./internal/require-trunk.ts";
import { zones_shown_max, type VoiceCampaignPreview } from "./voice-campaign-schema.ts";
import { withValidatedLaunch, type VoiceLaunchRequest } from "./with-validated-launch.ts";

/** How many rejected rows, and suppressed numbers, are shown. */
const samples_max = 20;

/** The calling window of an account that sets none. */
const default_window = { night_calling: false, calling_from: "09:00", calling_to: "21:00" };

/** Previews a launch by JSON or form. Refuses the same requests as createVoiceCampaign. */
export async function previewVoiceCampaign(
  app: App,
  account: Caller["account"],
  request: VoiceLaunchRequest,
): Promise<VoiceCampaignPreview> {
  const now = app.clock.now();
  const db = app.db.query;
  return withValidatedLaunch(app, account, request, now, async (launch, recipients) => {
    const { shares } = await requireTrunk(db, account.id, app.random());
    const { suppressed, suppressed_samples, callable } = await countRecipients(
      app,
      account.id,
      recipients,
      now,
    );
    const summary = recipients.summary();
    const { valid: total, invalid: rejected, duplicate: duplicates, rejects } = summary;
    if (total === 0) throw noRecipients(launch.source.send_to, summary);
    const available = await availableCredits(db, account.id, "call");
    const needed = total - suppressed;
    const calls_per_second = shares.reduce((sum, share) => sum + share.calls_per_second, 0);
    const window = await readWindow(db, account.id);
    const from = launch.scheduled_at ?? now;
    const { starts_at, finishes_at } = scheduleOf(window, callable, calls_per_second, from);
    const zones = zonesOf(window, callable, calls_per_second, from);
    return {
      total,
      rejected,
      duplicates,
      suppressed,
      suppressed_samples,
      rejects: samplesOf(rejects),
      credits: { needed, available, sufficient: available >= needed },
      starts_at: starts_at?.toISOString() ?? null,
      finishes_at: finishes_at?.toISOString() ?? null,
      zones,
      daytime_from: daytimeFrom(window, zones, from)?.toISOString() ?? null,
      calls_per_second,
    };
  });
}

/** Counts the suppressed recipients, and the others by the zones they may be in, joined by `&`. */
async function countRecipients(
  { db }: Pick<App, "db">,
  accountId: number,
  recipients: RecipientSource<unknown>,
  now: Date,
): Promise<{
  suppressed: number;
  suppressed_samples: string[];
  callable: ReadonlyMap<string, number>;
}> {
  let suppressed = 0;
  const suppressed_samples: string[] = [];
  const callable = new Map<string, number>();
  for await (const chunk of recipients.lines(null)) {
    const phones = Buffer.from(chunk).toString("latin1").trimEnd().split("\n");
    const among = await suppressedAmong(db.pool, accountId, call_outreach, phones, now);
    suppressed += among.size;
    suppressed_samples.push(...[...among].slice(0, samples_max - suppressed_samples.length));
    const of_contacts = await findContactZones(db.query, accountId, phones);
    for (const phone of phones) {
      if (among.has(phone)) continue;
      const zones = of_contacts.get(phoneKey(phone)) ?? phoneTimeZones(phone);
      callable.set(zones, (callable.get(zones) ?? 0) + 1);
    }
  }
  return { suppressed, suppressed_samples, callable };
}

/** Returns when the first recipient may be called, and when the last could have been; null if one never may. */
function scheduleOf(
  window: CallingWindow,
  callable: ReadonlyMap<string, number>,
  calls_per_second: number,
  from: Date,
): { readonly starts_at: Date | null; readonly finishes_at: Date | null } {
  // If all are suppressed, the account's own window.
  const starts = callable.size > 0 ? [] : [customerCallableFrom(window, [], from)];
  const calls = [...callable.values()].reduce((sum, count) => sum + count, 0);
  const ends = [callableFor(window, [], from, msFor(calls, calls_per_second))];
  for (const [joined, count] of callable) {
    const zones = splitTimeZones(joined);
    starts.push(customerCallableFrom(window, zones, from));
    ends.push(callableFor(window, zones, from, msFor(count, calls_per_second)));
  }
  const times = (dates: readonly (Date | null)[]) =>
    dates.flatMap((date) => (date ? [date.getTime()] : []));
  return {
    starts_at: times(starts).length > 0 ? new Date(Math.min(...times(starts))) : null,
    finishes_at: ends.includes(null) ? null : new Date(Math.max(...times(ends))),
  };
}

/** Returns where the most recipients are, from when each may be called, and whether that is at night. */
function zonesOf(
  window: CallingWindow,
  callable: ReadonlyMap<string, number>,
  calls_per_second: number,
  from: Date,
) {
  return [...callable]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, zones_shown_max)
    .map(([joined, recipients]) => {
      const time_zones = splitTimeZones(joined);
      const at = customerCallableFrom(window, time_zones, from);
      const length_ms = msFor(recipients, calls_per_second);
      const at_night = at !== null && isAtNight(window, time_zones, at, length_ms);
      return { time_zones, recipients, callable_from: at?.toISOString() ?? null, at_night };
    });
}

/** The window of an account that sets none, by the clocks of the customers; in no known zone, by the account's. */
const daytime = (window: CallingWindow, time_zones: readonly string[]): CallingWindow => ({
  ...default_window,
  time_zone: time_zones[0] ?? window.time_zone,
});

/** Returns whether calls from `at` on are over sooner by the account's window than they would be by day alone. */
function isAtNight(
  window: CallingWindow,
  time_zones: readonly string[],
  at: Date,
  length_ms: number,
): boolean {
  const end = callableFor(window, time_zones, at, length_ms);
  const end_by_day = callableFor(daytime(window, time_zones), time_zones, at, length_ms);
  return end !== null && (end_by_day === null || end < end_by_day);
}

/** Returns when it is day in all zones and the window is open; null if that is never, or not within some days. */
function daytimeFrom(
  window: CallingWindow,
  zones: VoiceCampaignPreview["zones"],
  from: Date,
): Date | null {
  const everywhere = zones.flatMap(({ time_zones }) => time_zones);
  let at: Date | null = from;
  for (let tries = 0; at && tries < 10; tries++) {
    const open = customerCallableFrom(window, everywhere, at);
    const by_day = open && customerCallableFrom(daytime(window, everywhere), everywhere, open);
    if (open?.getTime() === by_day?.getTime()) return open;
    at = by_day;
  }
  return null;
}

function msFor(calls: number, calls_per_second: number): number {
  return Math.ceil((calls / calls_per_second) * 1_000);
}

function samplesOf({ rows, values, reasons }: Rejects) {
  return rows
    .slice(0, samples_max)
    .map((row, i) => ({ row, value: values[i]!, reason: reasons[i]! }));
}

function readWindow(db: Kysely<DB>, accountId: number): Promise<CallingWindow> {
  return db
    .selectFrom("accounts")
    .select(["time_zone", "night_calling", "calling_from", "calling_to"])
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
}
