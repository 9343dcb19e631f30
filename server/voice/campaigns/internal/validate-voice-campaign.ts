// Validates the fields of a launch against its account: content, recipient source and start time.
import type { Kysely } from "kysely";
import type { Caller } from "../../../accounts/caller.ts";
import { findGroup } from "../../../audience/groups/groups.ts";
import { recipients_max } from "../../../audience/intake/limits.ts";
import { call_types, type VoicePlan } from "../../../calls/state-machine/voice-plan.ts";
import type { App } from "../../../engine/app.ts";
import type { DB } from "../../../lib/database/database.ts";
import type { FieldError } from "../../../lib/errors.ts";
import { knownId } from "../../../lib/ids.ts";
import { readStart } from "../../../lib/read-start.ts";
import { validateNumberList } from "../intake/number-list.ts";
import { findReadyFile, buildVoicePlan } from "./build-voice-plan.ts";
import { send_tos, type SendTo } from "../voice-campaign-schema.ts";

/** A validated recipient source; the content of a file is validated later. */
export type Source =
  | { readonly send_to: "Numbers"; readonly list: string; readonly count: number }
  | { readonly send_to: "Group"; readonly group_id: number; readonly count: number }
  | { readonly send_to: "csv"; readonly number_column: string };

/** The longest URL that fits an index entry; the schema counts characters. */
const url_bytes_max = 2_048;

/** The violations, and each part of an order: null if it has a violation. */
export type ValidatedVoiceCampaign = {
  readonly violations: readonly FieldError[];
  readonly send_to: SendTo | null;
  readonly plan: VoicePlan | null;
  readonly source: Source | null;
  readonly scheduled_at: Date | null;
  readonly crm_workspace_id: number | null;
};

/**
 * Validates everything beyond the schema. `body` may have any shape; a field that violates the schema
 * is not reported again here.
 */
export async function validateVoiceCampaign(
  { db: { query: db }, outgoing }: Pick<App, "db" | "outgoing">,
  account: Pick<Caller["account"], "id" | "time_zone">,
  body: unknown,
  now: Date,
): Promise<ValidatedVoiceCampaign> {
  const fields = fieldsOf(body);
  const send_to = send_tos.find((known) => known === fields["sendTo"]) ?? null;
  const violations: FieldError[] = [];
  const plan = await validateFile(db, account.id, fields, violations);
  const source = send_to && (await validateSource(db, account.id, send_to, fields, violations));
  if (isGiven(fields["max_retry"]) && !isGiven(fields["retry_after"]))
    violations.push({ field: "retry_after", reason: "is required with max_retry" });
  const start = readStart(textOf(fields["schedulled_at"]), account.time_zone, now);
  if (typeof start === "string") violations.push({ field: "schedulled_at", reason: start });
  const reason = validateCallbackUrl(outgoing, textOf(fields["callback_url"]));
  if (reason !== null) violations.push({ field: "callback_url", reason });
  const crm_workspace_id = await validateWorkspace(db, account.id, fields, violations);
  return {
    violations,
    send_to,
    plan,
    source,
    scheduled_at: typeof start === "string" ? null : start,
    crm_workspace_id,
  };
}

async function validateFile(
  db: Kysely<DB>,
  accountId: number,
  { voice_file_id, call_type }: Fields,
  violations: FieldError[],
): Promise<VoicePlan | null> {
  const known = call_types.find((type) => type === call_type);
  if (!Number.isInteger(voice_file_id)) return null;
  const file = await findReadyFile(db, accountId, voice_file_id as number);
  // Without a valid call type, validates only that the file exists.
  const plan =
    typeof file === "string" || !known ? file : await buildVoicePlan(db, accountId, file, known);
  if (typeof plan === "string") violations.push({ field: "voice_file_id", reason: plan });
  return typeof plan === "object" && "content" in plan ? plan : null;
}

async function validateSource(
  db: Kysely<DB>,
  accountId: number,
  send_to: SendTo,
  fields: Fields,
  violations: FieldError[],
): Promise<Source | null> {
  const field = { Numbers: "number", Group: "groupId", csv: "csv_number_column" }[send_to];
  const value = fields[field];
  const refuse = (reason: string) => {
    violations.push({ field, reason });
    return null;
  };
  if (!isGiven(value)) return refuse(`is required when sendTo is ${send_to}`);
  if (typeof value !== "string") return null;
  if (send_to === "csv") {
    const number_column = value.trim();
    return number_column === "" ? refuse("must not be empty") : { send_to, number_column };
  }
  if (send_to === "Numbers") {
    const count = validateNumberList(value);
    if (typeof count === "string") return refuse(count);
    if (count > recipients_max) return refuse(`must have at most ${recipients_max} numbers`);
    return { send_to, list: value, count };
  }
  if (!/^[0-9]{1,19}$/.test(value)) return refuse("must be the id of a group, in digits");
  const group = await findGroup(db, accountId, Number(value));
  if (!group) return refuse("is not a group of this account");
  if (group.members_count > recipients_max)
    return refuse(`must be a group of at most ${recipients_max} members`);
  return { send_to, group_id: group.id, count: group.members_count };
}

/** As the URL of an endpoint, without looking its name up: the address is validated whenever a request is sent. */
function validateCallbackUrl(outgoing: App["outgoing"], text: string): string | null {
  if (text === "") return null;
  const violation = outgoing.validate(text);
  if (violation !== null) return violation;
  return Buffer.byteLength(text) > url_bytes_max
    ? `must have at most ${url_bytes_max} bytes`
    : null;
}

async function validateWorkspace(
  db: Kysely<DB>,
  accountId: number,
  fields: Fields,
  violations: FieldError[],
): Promise<number | null> {
  const text = textOf(fields["crm_workspace_id"]);
  if (!/^[0-9]{1,19}$/.test(text)) return null;
  const workspace = await db
    .selectFrom("workspaces")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(Number(text)))
    .where("active", "=", true)
    .executeTakeFirst();
  if (workspace) return workspace.id;
  violations.push({
    field: "crm_workspace_id",
    reason: "is not an active workspace of this account",
  });
  return null;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields of a body; none if it is not an object. */
function fieldsOf(body: unknown): Fields {
  return typeof body === "object" && body !== null ? { ...body } : {};
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
