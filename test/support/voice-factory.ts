// Creates voice campaigns and their calls in any state, as the launch and the node leaders store them.
import type { CallType, VoiceContent } from "../../server/calls/state-machine/voice-plan.ts";
import type { App } from "../../server/engine/app.ts";
import type { RecipientState } from "../../server/voice/campaigns/campaign-record-schema.ts";
import { makeSandboxTrunk } from "./telephony-factory.ts";
import { unique, type TestAccount } from "./account-factory.ts";

type Account = Pick<TestAccount, "account_id" | "owner_id">;
type Values = Readonly<Record<string, unknown>>;

export type TestVoiceCampaign = {
  /** The interface specification's `campaignId`. */
  readonly id: number;
  /** The interface specification's `id`. */
  readonly public_id: string;
  readonly trunk_id: number;
};

export type RecipientToMake = {
  readonly state?: RecipientState;
  readonly phone?: string;
} & Values;

const contents: Readonly<Record<CallType, VoiceContent>> = {
  obd_voice_call: { call_type: "obd_voice_call", prompt: { say: "Hello", language: "en" } },
  obd_smartvoice: { call_type: "obd_smartvoice", script: "Hello {{name}}", language: "en" },
  obd_ivr: {
    call_type: "obd_ivr",
    menu: { start: "bye", nodes: { bye: { type: "hang_up", prompt: null } } },
  },
  ai_bot: {
    call_type: "ai_bot",
    // Tests with this AI agent do not talk to it.
    agent: {} as never,
    transfer_to: null,
  },
};

/** Creates a ready voice file; returns its ID. */
export async function makeVoiceFile(
  app: Pick<App, "db" | "clock">,
  { account_id, owner_id: created_by }: Account,
  more: Values = {},
): Promise<number> {
  const now = app.clock.now();
  const { id } = await app.db.query
    .insertInto("voice_files")
    .values({
      account_id,
      name: unique("file"),
      status: "ready",
      text: "Hello",
      created_by,
      created_at: now,
      updated_at: now,
      ...more,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

/**
 * Creates a running campaign of these recipients, by default waiting and due, with its counts. `campaign`
 * sets columns of the campaign; by default it gets a new sandbox trunk.
 */
export async function makeVoiceCampaign(
  app: Pick<App, "db" | "clock">,
  account: Account,
  {
    campaign = {},
    recipients = [{}],
  }: {
    readonly campaign?: Values & { readonly call_type?: CallType; readonly trunk_id?: number };
    readonly recipients?: readonly RecipientToMake[];
  } = {},
): Promise<TestVoiceCampaign> {
  const { account_id, owner_id: created_by } = account;
  const now = app.clock.now();
  const trunk_id = campaign.trunk_id ?? (await makeSandboxTrunk(app, account)).trunk_id;
  const voice_file_id = await makeVoiceFile(app, account);
  const { call_type = "obd_voice_call" } = campaign;
  const plan = {
    content: contents[call_type],
    opt_out_key: null,
    answering_machine: "off",
  };
  const states = recipients.map(({ state = "waiting" }) => state);
  const counts: Partial<Record<RecipientState, number>> = {};
  for (const state of states) counts[state] = (counts[state] ?? 0) + 1;
  return app.db.query.transaction().execute(async (tx) => {
    const { id } = await tx
      .insertInto("call_campaigns")
      .values({ account_id, kind: "voice", created_by, created_at: now })
      .returning("id")
      .executeTakeFirstOrThrow();
    const made = await tx
      .insertInto("voice_campaigns")
      .values({
        account_id,
        id,
        name: unique("campaign"),
        call_type,
        send_to: "Numbers",
        voice_file_id,
        trunk_id,
        plan: JSON.stringify(plan),
        state: "running",
        total: recipients.length,
        created_by,
        created_at: now,
        started_at: now,
        ...campaign,
      })
      .returning(["id", "public_id", "trunk_id"])
      .executeTakeFirstOrThrow();
    if (recipients.length > 0)
      await tx
        .insertInto("voice_recipients")
        .values(
          recipients.map((recipient, i) => ({
            account_id,
            campaign_id: id,
            id: i + 1,
            number: numberOf(i),
            phone: `91${numberOf(i)}`,
            state: states[i]!,
            due_at: now,
            ...recipient,
          })),
        )
        .execute();
    await tx
      .insertInto("voice_counts")
      .values({ account_id, campaign_id: id, slot: 9, ...counts })
      .execute();
    return made;
  });
}

function numberOf(i: number): string {
  return String(9_800_000_001 + i);
}

export type VoiceCallToMake = {
  readonly recipient_id?: number;
  /** Columns of the call. */
  readonly call?: Values;
  /** The menu nodes passed, the transcript and the recorded messages. */
  readonly steps?: readonly { readonly node: string; readonly key: string | null }[];
  readonly said?: readonly { readonly who: "agent" | "caller"; readonly text: string }[];
  readonly messages?: readonly {
    readonly recording: string;
    readonly node: string;
    readonly state: "recording" | "ready" | "failed";
  }[];
};

/** Creates an answered call of a recipient, by default ended, as the recipient's last call; returns its ID. */
export async function makeVoiceCall(
  app: Pick<App, "db" | "clock">,
  { account_id }: Pick<Account, "account_id">,
  campaign: TestVoiceCampaign,
  { recipient_id = 1, call = {}, steps = [], said = [], messages = [] }: VoiceCallToMake = {},
): Promise<number> {
  const now = app.clock.now();
  const db = app.db.query;
  const { number, phone } = await db
    .selectFrom("voice_recipients")
    .select(["number", "phone"])
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign.id)
    .where("id", "=", recipient_id)
    .executeTakeFirstOrThrow();
  const { node_id } = await db
    .selectFrom("trunk_nodes")
    .select("node_id")
    .where("trunk_id", "=", campaign.trunk_id)
    .executeTakeFirstOrThrow();
  const { id: call_id } = await db
    .insertInto("calls")
    .values({
      account_id,
      campaign_id: campaign.id,
      recipient_id,
      attempt: 1,
      node_id,
      trunk_id: campaign.trunk_id,
      from_number: "9000000000",
      to_number: number,
      to_phone: phone,
      due_at: now,
      queued_at: now,
      stage: "ended",
      status: "completed",
      disposition: "answered",
      ended_reason: "hung_up",
      ended_by: "customer",
      ended_at: now,
      ...call,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const of = { account_id, call_id };
  const stepRows = steps.map((step) => ({
    ...of,
    campaign_id: campaign.id,
    recipient_id,
    at: now,
    ...step,
  }));
  if (stepRows.length > 0) await db.insertInto("call_menu_steps").values(stepRows).execute();
  const lines = said.map((line) => ({ ...of, at: now, ...line }));
  if (lines.length > 0) await db.insertInto("call_transcripts").values(lines).execute();
  const left = messages.map((message) => ({ ...of, at: now, ...message }));
  if (left.length > 0) await db.insertInto("call_messages").values(left).execute();
  await db
    .updateTable("voice_recipients")
    .set({ call_id, attempts: 1 })
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign.id)
    .where("id", "=", recipient_id)
    .execute();
  return call_id;
}
