// Records the outcome of a voice campaign's call on its lead.
import { sql } from "kysely";
import { findCallRecord } from "../../calls/records/call-records.ts";
import type { CallRecord } from "../../calls/records/call-record-schema.ts";
import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import type { Tx } from "../../lib/database/database.ts";
import type { FieldError } from "../../lib/errors.ts";
import { e164, tenDigitsOfPhone } from "../../lib/phone-numbers.ts";
import { customValue } from "./read-cell.ts";
import { validateLead } from "./validate-lead.ts";
import { createLeads } from "./lead-intake.ts";
import { leadRow } from "./lead-row.ts";
import { updateLead } from "./update-lead.ts";
import { addTimelineEntry } from "./internal/record-lead-change.ts";
import { readWorkspaceSchema, type WorkspaceSchema } from "../workspaces/workspace-schema.ts";

/** Limit of the transcript on the timeline; the call record has all of it. */
const transcript_characters_max = 10_000;

type Outcome = {
  readonly account_id: number;
  readonly call_id: number;
  readonly workspace_id: number;
};

/**
 * The job crm.record_call: records a call on the newest lead of its phone, and creates the lead and its
 * contact if there is none. Values that the call collected go to the custom fields that accept them; the
 * rest appears on the timeline. Runs once per call. Skipped, with a warning, if the workspace is not active
 * or the phone is not valid for a lead.
 */
export async function recordCallOutcome(
  app: App,
  { account_id, payload }: Pick<Job, "account_id" | "payload">,
): Promise<void> {
  const { call_id, workspace_id } = payload as Omit<Outcome, "account_id">;
  const outcome = { account_id, call_id, workspace_id };
  const { dropped, created_count } = await app.db.query
    .transaction()
    .execute((tx) => writeOutcome(tx, outcome, app.clock.now()));
  app.metrics?.leadsCreated.inc(created_count);
  if (dropped)
    app.log.warn({ ...outcome, reason: dropped }, "call outcome not recorded in the CRM");
}

type Written = {
  /** Why nothing was written; null if it was. */
  readonly dropped: string | null;
  readonly created_count: number;
};

async function writeOutcome(tx: Tx, outcome: Outcome, now: Date): Promise<Written> {
  const { account_id, call_id, workspace_id } = outcome;
  const call = await lockCall(tx, outcome);
  if (!call) return notWritten("the call has been purged");
  if (call.lead_id !== null) return { dropped: null, created_count: 0 };
  const schema = await holdWorkspace(tx, outcome);
  if (!schema) return notWritten("the workspace is not active");
  const phone = tenDigitsOfPhone(call.to_phone, call.country_code);
  if (phone === null) return notWritten("the phone is not valid for a lead");
  const creator = { user_id: call.created_by, country_code: call.country_code };
  const fields = fitFields(schema, call.lead_fields as Readonly<Record<string, string>>);
  const known = await findLead(tx, outcome, { phone, phone_e164: e164(phone, call.country_code) });
  const { lead_id, created_count } =
    known === null
      ? await createLead(tx, outcome, { schema, creator, phone, values: fields.fit }, now)
      : { lead_id: known, created_count: 0 };
  const place = { account_id, workspace_id, lead_id };
  // Without a timeline entry if the lead was just created with these values.
  if (Object.keys(fields.fit).length > 0)
    await updateLead(tx, place, { ...creator, user_id: null }, { customFields: fields.fit }, now);
  const report = await findCallRecord(tx, account_id, call_id);
  const data = entryOf(report, call.recording_state, fields.unfit);
  await addTimelineEntry(tx, place, { kind: "call", at: now, user_id: null, data });
  await tx
    .updateTable("calls")
    .set({ lead_id })
    .where("account_id", "=", account_id)
    .where("id", "=", call_id)
    .execute();
  return { dropped: null, created_count };
}

const notWritten = (reason: string): Written => ({ dropped: reason, created_count: 0 });

/** Locks the call: a concurrent run of the same job waits, and then finds the call's lead. */
function lockCall(tx: Tx, { account_id, call_id }: Outcome) {
  return tx
    .selectFrom("calls as c")
    .innerJoin("voice_campaigns as v", (join) =>
      join.onRef("v.account_id", "=", "c.account_id").onRef("v.id", "=", "c.campaign_id"),
    )
    .innerJoin("accounts as a", "a.account_id", "c.account_id")
    .select(["c.lead_id", "c.to_phone", "c.lead_fields", "c.recording_state"])
    .select(["v.created_by", "a.country_code"])
    .where("c.account_id", "=", account_id)
    .where("c.id", "=", call_id)
    .forNoKeyUpdate("c")
    .executeTakeFirst();
}

/** Locks and returns the schema of an active workspace, as create_leads does; null otherwise. */
async function holdWorkspace(
  tx: Tx,
  { account_id, workspace_id }: Outcome,
): Promise<WorkspaceSchema | null> {
  await tx
    .selectFrom("workspaces")
    .select("id")
    .where("account_id", "=", account_id)
    .where("id", "=", workspace_id)
    .modifyEnd(sql`for key share`)
    .execute();
  return readWorkspaceSchema(tx, account_id, workspace_id);
}

/** Not by the ten digits alone: a lead from before a change of the account's country code is another person's. */
async function findLead(
  tx: Tx,
  { account_id, workspace_id }: Outcome,
  { phone, phone_e164 }: { readonly phone: string; readonly phone_e164: string },
): Promise<number | null> {
  const lead = await tx
    .selectFrom("leads")
    .select("id")
    .where("account_id", "=", account_id)
    .where("workspace_id", "=", workspace_id)
    .where("phone", "=", phone)
    .where("phone_e164", "=", phone_e164)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return lead?.id ?? null;
}

type NewLead = {
  readonly schema: WorkspaceSchema;
  readonly creator: { readonly user_id: number; readonly country_code: string };
  readonly phone: string;
  readonly values: Readonly<Record<string, unknown>>;
};

/** Creates the lead. Two calls of one phone that end together are serialized by the phone's contact. */
async function createLead(
  tx: Tx,
  outcome: Outcome,
  { schema, creator, phone, values }: NewLead,
  now: Date,
): Promise<{ readonly lead_id: number; readonly created_count: number }> {
  const { account_id, workspace_id } = outcome;
  // A required field without a value stays empty, so that the outcome is not lost.
  const row = leadRow(schema, creator, { phone, customFields: values });
  const { name, phone_e164 } = row;
  await tx
    .insertInto("contacts")
    .values({ account_id, workspace_id, phone, phone_e164, name, created_at: now, updated_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await tx
    .selectFrom("contacts")
    .select("id")
    .where("account_id", "=", account_id)
    .where("workspace_id", "=", workspace_id)
    .where("phone", "=", phone)
    .forNoKeyUpdate()
    .execute();
  const known = await findLead(tx, outcome, row);
  if (known !== null) return { lead_id: known, created_count: 0 };
  const [verdict] = await createLeads(tx, account_id, [row], now);
  if (verdict?.lead_id == null) throw new Error(`could not create the lead: ${verdict?.verdict}`);
  return { lead_id: verdict.lead_id, created_count: 1 };
}

/** Splits the collected values into those that the workspace's fields accept, and violations of the others. */
function fitFields(schema: WorkspaceSchema, given: Readonly<Record<string, string>>) {
  const fit: Record<string, unknown> = {};
  const unfit: FieldError[] = [];
  for (const [key, text] of Object.entries(given)) {
    const field = schema.fields.get(key);
    const value = field ? customValue(field, text) : text;
    const [violation] = validateLead(schema, { customFields: { [key]: value } }, "patch");
    if (violation) unfit.push({ field: key, reason: violation.reason });
    else fit[key] = value;
  }
  return { fit, unfit };
}

/** Returns the timeline entry, in the CRM's camelCase. */
function entryOf(call: CallRecord, recording_state: string, unfit: readonly FieldError[]) {
  const { call_id, transcript } = call;
  const said = transcript?.map(({ who, text }) => `${who}: ${text}`).join("\n") ?? null;
  return {
    callId: call_id,
    campaignId: call.campaign_id,
    campaignName: call.campaign_name,
    status: call.status,
    outcome: call.disposition,
    endedReason: call.ended_reason,
    answeredBy: call.answered_by,
    talkSeconds: call.talk_seconds,
    keys: call.dtmf,
    collected: call.collected,
    transcript: said?.slice(0, transcript_characters_max).toWellFormed() ?? null,
    // The URL where the recording will be when it is ready.
    recordingUrl: /^(?:recording|ready)$/.test(recording_state)
      ? `/api/v1/calls/${call_id}/recording`
      : null,
    callbackAt: call.callback_at,
    optedOut: call.opted_out,
    fieldsNotSet: unfit,
  };
}
