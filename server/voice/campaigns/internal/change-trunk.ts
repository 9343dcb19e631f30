// The trunk of an open campaign: whether it can be used, and the change to another.
import type { VoiceDriverName } from "../../../drivers/voice/driver.ts";
import type { EventData } from "../../../engine/event-catalogue.ts";
import { statement, type Tx } from "../../../lib/database/database.ts";
import {
  allowsCallerId,
  findTrunks,
  listsCallerId,
  type TrunkOnNode,
} from "../../../telephony/trunks/choose-trunk.ts";
import { recordCampaignEvents } from "./record-campaign-event.ts";
import { carriers_own } from "./require-trunk.ts";

/** Why a campaign's trunk cannot be used; `unreachable`: all its nodes are inactive or lost. */
type TrunkProblem = "deleted" | "inactive" | "reserved" | "caller_id" | "unreachable";

/** An open campaign whose trunk or caller ID cannot be used. */
export type StrandedCampaign = {
  readonly account_id: number;
  readonly id: number;
  readonly public_id: string;
  readonly name: string;
  readonly trunk_id: number;
  readonly caller_id: string | null;
  readonly problem: TrunkProblem;
  /** Null if the trunk was deleted. */
  readonly trunk: string | null;
  readonly fallback_trunk_id: number | null;
  /** The drivers of its trunk at the launch; null if a version without this column launched it. */
  readonly launch_drivers: readonly VoiceDriverName[] | null;
};

/** Selects open campaigns whose trunk or caller ID cannot be used, and that `more` matches. */
export const strandedCampaigns = (more: string) => `
  select * from (
    select v.account_id, v.id, v.public_id, v.name, v.trunk_id, v.caller_id, v.launch_drivers,
      t.name as trunk, t.fallback_trunk_id,
      case
        when t.id is null then 'deleted'
        when not t.active then 'inactive'
        when t.only_account_id <> v.account_id then 'reserved'
        when v.caller_id <> '${carriers_own}' and not (${listsCallerId("v.caller_id")}
          and ${allowsCallerId("v.account_id", "v.caller_id")}) then 'caller_id'
        when not exists (
          select from trunk_nodes s
          join voice_nodes n on n.id = s.node_id and n.active and n.lost_at is null
          where s.trunk_id = t.id) then 'unreachable'
      end as problem
    from voice_campaigns v
    left join trunks t on t.id = v.trunk_id
    where v.finished_at is null and v.state in ('scheduled', 'running') and ${more}) c
  where c.problem is not null
  order by c.account_id, c.id`;

const findStranded = statement<StrandedCampaign>(
  strandedCampaigns("v.account_id = $1 and v.id = $2"),
);

/** Returns a campaign with its problem, or null if its trunk can be used. Lock the campaign first. */
export async function findTrunkProblem(
  tx: Tx,
  campaign: { readonly account_id: number; readonly id: number },
): Promise<StrandedCampaign | null> {
  const [found] = await findStranded(tx, [campaign.account_id, campaign.id]);
  return found ?? null;
}

/** Describes the problem to users. */
export function problemText({ problem, trunk, caller_id }: StrandedCampaign): string {
  switch (problem) {
    case "deleted":
      return "the trunk was deleted";
    case "inactive":
      return `the trunk ${trunk} was deactivated`;
    case "reserved":
      return `the trunk ${trunk} was reserved for another account`;
    case "caller_id":
      return `the trunk ${trunk} no longer shows the caller ID ${caller_id} for this account`;
    case "unreachable":
      return `every node of the trunk ${trunk} is inactive or lost`;
  }
}

type Driver = { readonly driver: VoiceDriverName };

const findTrunkDrivers = statement<Driver>(`
  select n.driver from trunk_nodes s join voice_nodes n on n.id = s.node_id where s.trunk_id = $1`);

const findLastDriver = statement<Driver>(`
  select n.driver from calls c join voice_nodes n on n.id = c.node_id
  where c.account_id = $1 and c.campaign_id = $2
  order by c.queued_at desc, c.id desc limit 1`);

/**
 * Finds the trunks over which the campaign may continue. None of another driver: the sandbox would only simulate real
 * calls, and calls of a campaign on the sandbox would ring real phones. None if trunk, calls and launch show no driver.
 */
export async function findSubstitutes(
  tx: Tx,
  { account_id, id, trunk_id, launch_drivers }: StrandedCampaign,
): Promise<readonly TrunkOnNode[]> {
  const ofTrunk = await findTrunkDrivers(tx, [trunk_id]);
  const shown = ofTrunk.length > 0 ? ofTrunk : await findLastDriver(tx, [account_id, id]);
  // Last, because the operator may have given the trunk other nodes since the launch.
  const known = shown.length > 0 ? shown.map(({ driver }) => driver) : (launch_drivers ?? []);
  const drivers = new Set(known);
  const usable = await findTrunks(tx, [account_id, null]);
  // A trunk may have nodes of both drivers, and dials over each of them.
  const others = usable.filter(({ driver }) => !drivers.has(driver));
  return usable.filter((one) => !others.some((other) => other.trunk_id === one.trunk_id));
}

const findTrunk = statement<{ name: string; caller_id: string | null }>(`
  select t.name, case when ${listsCallerId("$3")} and allows_caller_id($1, row(t.*)::trunks, $3)
    then trunk_spelling(row(t.*)::trunks, $3)
    else default_caller_id($1, row(t.*)::trunks) end as caller_id
  from trunks t where t.id = $2`);

/**
 * Continues a locked campaign over the trunk, and records the event. The caller ID stays if the account may
 * show it over the trunk, and otherwise becomes the account's default there. The caller sends `voice_work` with the trunk after the commit.
 */
export async function changeTrunk(
  tx: Tx,
  campaign: StrandedCampaign,
  trunk_id: number,
  now: Date,
): Promise<void> {
  const { account_id, id, trunk: previous_trunk, caller_id: previous } = campaign;
  const [trunk] = await findTrunk(tx, [account_id, trunk_id, previous]);
  const { name } = trunk!;
  const caller_id = trunk!.caller_id ?? carriers_own;
  await tx
    .updateTable("voice_campaigns")
    .set({ trunk_id, caller_id })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  const data: Omit<EventData<"voice.campaign.trunk_changed">, "campaign_id" | "id" | "name"> = {
    trunk: name,
    caller_id: shownCallerId(caller_id),
    previous_trunk,
    previous_caller_id: shownCallerId(previous),
    reason: problemText(campaign),
  };
  const events = [{ type: "voice.campaign.trunk_changed", data }] as const;
  await recordCampaignEvents(tx, account_id, campaign, events, now);
}

/** Returns a campaign's caller ID as users see it; null: the carrier sets one. */
export function shownCallerId(callerId: string | null): string | null {
  return callerId === carriers_own ? null : callerId;
}
