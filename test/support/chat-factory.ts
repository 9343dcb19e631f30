// Creates chat numbers, templates, campaigns, flows and suppressions.
import { makeTemplatePlan } from "../../server/chat/messages/build-message-plan.ts";
import { reserveCredits } from "../../server/credits/reserve-credits.ts";
import type { App } from "../../server/engine/app.ts";
import { phoneKey } from "../../server/lib/phone-key.ts";
import { unique, type TestAccount } from "./account-factory.ts";

type Account = Pick<TestAccount, "account_id" | "owner_id">;

export type TestChatNumber = {
  readonly id: number;
  readonly provider_phone_number_id: string;
  readonly business_account_id: string;
};

/** Creates an active number of the driver; returns its IDs. */
export async function makeChatNumber(
  app: App,
  { account_id }: Account,
  more: {
    driver?: "sandbox" | "whatsapp";
    rate_per_second?: number;
    marketing_onboarded?: boolean;
    active?: boolean;
  } = {},
): Promise<TestChatNumber> {
  const now = app.clock.now();
  const driver = more.driver ?? "sandbox";
  const provider_phone_number_id = unique(`pn${account_id}`);
  const business_account_id = unique(`ba${account_id}`);
  const { id } = await app.db.query
    .insertInto("chat_numbers")
    .values({
      account_id,
      name: "Test number",
      phone: "919000000000",
      provider_phone_number_id,
      business_account_id,
      created_at: now,
      updated_at: now,
      rate_per_second: 1_000,
      ...more,
      driver,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await app.db.query
    .insertInto("chat_routes")
    .values([
      {
        driver,
        kind: "phone_number",
        provider_id: provider_phone_number_id,
        account_id,
        chat_number_id: id,
      },
      {
        driver,
        kind: "business_account",
        provider_id: business_account_id,
        account_id,
        chat_number_id: null,
      },
    ])
    .execute();
  return { id, provider_phone_number_id, business_account_id };
}

const body_with_name = [{ type: "BODY", text: "Hello {{1}}" }] as const;

/** Creates an approved template with the body variable `1`, by default "there"; returns its ID. */
export async function makeChatTemplate(
  app: App,
  { account_id }: Account,
  number: TestChatNumber,
  more: {
    driver?: "sandbox" | "whatsapp";
    category?: "MARKETING" | "UTILITY";
    status?: "APPROVED" | "PENDING" | "REJECTED" | "PAUSED" | "DISABLED";
    variable_defaults?: Record<string, string>;
    provider_template_id?: string;
  } = {},
): Promise<number> {
  const now = app.clock.now();
  const { id } = await app.db.query
    .insertInto("chat_templates")
    .values({
      account_id,
      driver: more.driver ?? "sandbox",
      business_account_id: number.business_account_id,
      name: unique("greeting").replaceAll("-", "_"),
      language: "en",
      category: more.category ?? "UTILITY",
      parameter_format: "POSITIONAL",
      components: JSON.stringify(body_with_name),
      variable_defaults: JSON.stringify(more.variable_defaults ?? { "1": "there" }),
      status: more.status ?? "APPROVED",
      provider_template_id: more.provider_template_id ?? unique("pt"),
      created_at: now,
      updated_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

/** Inserts a running campaign of these recipients and reserves its credit; returns its ID. */
export async function makeChatCampaign(
  app: App,
  { account_id, owner_id }: Account,
  number: TestChatNumber,
  template_id: number,
  recipients: readonly { phone: string; variables?: Record<string, string> }[],
): Promise<number> {
  const now = app.clock.now();
  const template = await app.db.query
    .selectFrom("chat_templates")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("id", "=", template_id)
    .executeTakeFirstOrThrow();
  return app.db.query.transaction().execute(async (tx) => {
    const plan = makeTemplatePlan(template as never);
    const subject = `chat_campaign:${unique("test")}`;
    const reservation_id = await reserveCredits(
      tx,
      { account_id, kind: "chat", subject, amount: recipients.length },
      now,
    );
    const { id: campaign_id } = await tx
      .insertInto("chat_campaigns")
      .values({
        account_id,
        name: "Test campaign",
        chat_number_id: number.id,
        template_id,
        plan: JSON.stringify(plan),
        state: "running",
        total: recipients.length,
        trimmed: JSON.stringify({ invalid: 0, duplicate: 0, blacklisted: 0 }),
        mm_lite: JSON.stringify({ requested: false, used: false, reason: null }),
        reservation_id,
        work_at: now,
        created_by: owner_id,
        created_at: now,
        started_at: now,
        report_counted: true,
      })
      .returning("id")
      .executeTakeFirstOrThrow();
    for (let i = 0; i < recipients.length; i += 5_000) {
      await tx
        .insertInto("chat_recipients")
        .values(
          recipients.slice(i, i + 5_000).map(({ phone, variables }) => ({
            account_id,
            campaign_id,
            phone,
            variables: variables ? JSON.stringify(variables) : null,
          })),
        )
        .execute();
    }
    await tx
      .insertInto("chat_counts")
      .values({ account_id, campaign_id, slot: "controls", queued: recipients.length })
      .execute();
    return campaign_id;
  });
}

const opening = { type: "interactive", body: "Hello {{1}}", variable_defaults: { "1": "there" } };

/** Creates a chat flow, by default with an interactive opening message; returns its ID. */
export async function makeChatFlow(
  app: App,
  { account_id }: Account,
  more: { active?: boolean; opening?: object } = {},
): Promise<number> {
  const { id } = await app.db.query
    .insertInto("chat_flows")
    .values({ account_id, ...flowValues(app, more) })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

/** Creates an automation flow in the same way; returns its UUID. */
export async function makeAutomationFlow(
  app: App,
  { account_id }: Account,
  more: { active?: boolean; opening?: object } = {},
): Promise<string> {
  const { id } = await app.db.query
    .insertInto("automation_flows")
    .values({ account_id, ...flowValues(app, more) })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

function flowValues(app: App, more: { active?: boolean; opening?: object }) {
  const now = app.clock.now();
  return {
    name: unique("flow"),
    active: more.active ?? true,
    opening: JSON.stringify(more.opening ?? opening),
    created_at: now,
    updated_at: now,
  };
}

/** Suppresses a phone number (E.164 digits without the plus) for the account. */
export async function makeSuppression(
  app: App,
  { account_id }: Account,
  phone: string,
  more: {
    channel?: "all" | "chat" | "voice";
    scope?: "all" | "marketing";
    expires_at?: Date;
  } = {},
): Promise<void> {
  const values = { channel: "chat", scope: "all", reason: "test", source: "manual", ...more };
  const at = app.clock.now();
  const person = { account_id, person_key: phoneKey(phone), phone };
  await app.db.query
    .insertInto("suppressions")
    .values({ ...person, occurred_at: at, created_at: at, ...values })
    .execute();
}
