// Validates a click-to-call against its account: the agent, the time, the groups and the trunk.
import type { CallingWindow } from "../../accounts/accounts/calling-window.ts";
import type {
  AccountDestinations,
  DestinationBlocker,
} from "../../accounts/accounts/call-destinations.ts";
import type { Caller } from "../../accounts/caller.ts";
import { readPersonPhone } from "../../audience/intake/read-person-phone.ts";
import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";
import type { FieldError } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { phoneSpellings } from "../../lib/phone-key.ts";
import { readStart } from "../../lib/read-start.ts";
import { isExtension } from "../../telephony/agent-groups/agent-number.ts";
import { isAgentNumber } from "../../telephony/agent-numbers/is-agent-number.ts";
import {
  chooseTrunk,
  ringsAgent,
  trunksOnNodes,
  type TrunkOnNode,
} from "../../telephony/trunks/choose-trunk.ts";
import { contactTimeZones, customerZones } from "../customer-hours.ts";
import { callableTrunks } from "./callable-trunks.ts";
import { auto_block_minutes_max, auto_block_reason } from "./click-to-call-schema.ts";
import { findCallCap, type CallCap } from "./find-call-cap.ts";

/** The result; the other fields are valid only if there are no violations. */
export type ValidatedClickToCall = {
  readonly violations: readonly FieldError[];
  /** The agent as calls store it: an extension, or a phone number as E.164 digits. */
  readonly from: string;
  /** Null: now. */
  readonly scheduled_at: Date | null;
  readonly agent_not_pick_group_id: number | null;
  readonly from_group_id: number | null;
  readonly to_group_id: number | null;
  readonly auto_block_minutes: number | null;
  readonly window: CallingWindow;
  /** The zones that the customer may be in. */
  readonly customer_zones: readonly string[];
  /** Null: the account has no usable trunk. */
  readonly trunk: TrunkOnNode | null;
  /** A country that neither the account nor any of its trunks may call; null: none. */
  readonly blocker: DestinationBlocker | null;
  /** The operator's cap that a call now would exceed; null for none, and for a scheduled call. */
  readonly cap: CallCap | null;
};

type Account = Pick<Caller["account"], "id" | "country_code" | "time_zone">;

/** Who submits the call. */
export type Submitter = { readonly account: Account; readonly token_id: number | null };

/**
 * Validates what the schema cannot. `body` may have any shape; fields that violate the schema count as
 * omitted.
 */
export async function validateClickToCall(
  { db, random }: Pick<App, "db" | "random">,
  { account, token_id }: Submitter,
  body: unknown,
  now: Date,
): Promise<ValidatedClickToCall> {
  const text = textsOf(body);
  const from = agentOf(text("from_number"), account.country_code);
  const start = readStart(text("schedulled_at") ?? "", account.time_zone, now);
  const block = minutesOf(text("auto_block_time"));
  const groups = {
    agent_not_pick_group_id: groupIdOf(text("agent_not_pick_group")),
    from_group_id: groupIdOf(text("from_group_id")),
    to_group_id: groupIdOf(text("to_group_id")),
  };
  const groupIds = [groups.agent_not_pick_group_id, groups.from_group_id, groups.to_group_id];
  const to_phone = account.country_code + (text("to_number") ?? "");
  const spellings = from === null || isExtension(from) ? [] : phoneSpellings(from);
  const cli_number = text("cli_number");
  const values = [account.id, ...groupIds, from, cli_number, to_phone, spellings];
  const dialsAgent = from !== null && !isExtension(from) && groups.from_group_id === null;
  const phones = dialsAgent ? [to_phone, from] : [to_phone];
  const [[found], cap] = await Promise.all([
    findReferences(db.pool, values),
    start === null ? findCallCap(db.pool, account.id, token_id, phones, now) : null,
  ]);
  const references = found!;
  const usable = usableTrunks(references, from ?? "");
  const dialed = {
    from_number: from !== null && isExtension(from) ? null : from,
    to_number: /^[0-9]{10}$/.test(text("to_number") ?? "") ? to_phone : null,
  };
  const callable = callableTrunks(references, usable.trunks, dialed);
  return {
    violations: [
      ...violation(
        "from_number",
        from === null ? agent_reason : (usable.from_reason ?? callable.barred.from_number),
      ),
      ...violation("to_number", callable.barred.to_number),
      ...violation("cli_number", usable.cli_reason),
      ...violation(
        "agent_not_pick_group",
        references.knows_agent_not_pick_group ? null : group_reason,
      ),
      ...violation("schedulled_at", typeof start === "string" ? start : null),
      ...violation("from_group_id", references.knows_from_group ? null : group_reason),
      ...violation(
        "to_group_id",
        references.knows_to_group ? null : "is not a group of this account",
      ),
      ...violation("auto_block_time", typeof block === "string" ? block : null),
    ],
    from: from ?? "",
    scheduled_at: typeof start === "string" ? null : start,
    ...groups,
    auto_block_minutes: typeof block === "string" ? null : block,
    window: references,
    customer_zones: customerZones({ ...references, to_phone }),
    trunk: chooseTrunk(callable.trunks, random()),
    blocker: callable.blocker,
    cap,
  };
}

/** The account's calling window, and what the request refers to. */
type References = CallingWindow &
  AccountDestinations & {
    readonly knows_agent_not_pick_group: boolean;
    readonly knows_from_group: boolean;
    readonly knows_to_group: boolean;
    readonly knows_extension: boolean;
    readonly knows_agent_number: boolean;
    readonly contact_time_zones: readonly string[];
    readonly trunks: readonly TrunkOnNode[];
  };

const isGroup = (table: "agent_groups" | "groups", id: string, condition = "true") =>
  `coalesce((select ${condition} from ${table} g where g.account_id = $1 and g.id = ${id}), ${id}::bigint is null)`;

const findReferences = statement<References>(`
  select a.time_zone, a.night_calling, a.calling_from, a.calling_to, a.country_code,
    a.call_destinations_allowed as destinations_allowed, a.call_destinations as destinations,
    ${isGroup("agent_groups", "$2")} as knows_agent_not_pick_group,
    ${isGroup("agent_groups", "$3")} as knows_from_group,
    ${isGroup("groups", "$4", "g.deleted_at is null")} as knows_to_group,
    exists (
      select from extensions e where e.account_id = $1 and e.extension = $5) as knows_extension,
    ${isAgentNumber("$1", "$8")} as knows_agent_number,
    ${contactTimeZones("$1", "$7")} as contact_time_zones,
    (select coalesce(json_agg(t), '[]') from (${trunksOnNodes("$1", "$6")}) t) as trunks
  from accounts a where a.account_id = $1`);

const agent_reason =
  "must be an extension (2 to 6 digits) or a phone number (ten digits, or + and the country code)";
const group_reason = "is not an agent group of this account";

/** Returns a reader of the body's texts: null for a value that is missing, empty or not a text. */
function textsOf(body: unknown): (field: string) => string | null {
  const fields = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  return (field) => {
    const value = Object.hasOwn(fields, field) ? fields[field] : null;
    return typeof value === "string" && value !== "" ? value : null;
  };
}

function agentOf(text: string | null, countryCode: string): string | null {
  if (text === null || isExtension(text)) return text;
  return readPersonPhone(text, countryCode);
}

function minutesOf(text: string | null): number | string | null {
  if (text === null) return null;
  const minutes = Number(text);
  if (!(minutes <= auto_block_minutes_max)) return auto_block_reason;
  return minutes > 0 ? minutes : null;
}

function groupIdOf(text: string | null): number | null {
  if (text === null || !/^[0-9]+$/.test(text)) return null;
  return knownId(Number(text));
}

/** Returns the trunks that can place the call, and field reasons if there is none. */
function usableTrunks({ trunks, knows_extension, knows_agent_number }: References, from: string) {
  const withCallerId = trunks.filter(({ allows_caller_id }) => allows_caller_id);
  const isKnown = isExtension(from) ? knows_extension : knows_agent_number;
  const usable = withCallerId.filter((trunk) => ringsAgent(trunk, from, isKnown));
  const excludesAll = (before: readonly TrunkOnNode[], after: readonly TrunkOnNode[]) =>
    before.length > 0 && after.length === 0;
  return {
    trunks: usable,
    cli_reason: excludesAll(trunks, withCallerId)
      ? "is not an allowed caller ID on any active trunk"
      : null,
    from_reason: excludesAll(withCallerId, usable) ? unknownReason(from) : null,
  };
}

function unknownReason(from: string): string {
  return isExtension(from)
    ? "is not an extension of this account"
    : "is neither an agent number of this account nor a member of its agent groups";
}

function violation(field: string, reason: string | null): FieldError[] {
  return reason === null ? [] : [{ field, reason }];
}
