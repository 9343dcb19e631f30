// The demo's chat data: everything that a campaign in the sandbox needs, with credit.
import type { Actor } from "../accounts/audit/record-audit.ts";
import { addGroupMembers } from "../audience/groups/add-group-members.ts";
import { createGroup } from "../audience/groups/create-group.ts";
import { suppress } from "../audience/suppressions/suppress.ts";
import { createChatNumber } from "../chat/numbers/create-chat-number.ts";
import { grantCredits } from "../credits/grant-credits.ts";
import type { CreditKind } from "../credits/credit-schema.ts";
import type { Tx } from "../lib/database/database.ts";

const blacklisted_number = "919000000099";

/** Creates credit, a sandbox number, and an approved template with the body variable `1` and its default. */
export async function seedChat(
  tx: Tx,
  accountId: number,
  credits: Readonly<Partial<Record<CreditKind, number>>>,
  now: Date,
): Promise<{ chat_number_id: number; template_id: number }> {
  const actor = seederOf(accountId);
  await seedCredits(tx, accountId, credits, now);
  const number = await createChatNumber(
    tx,
    actor,
    { name: "Demo number", phone_number: "+919000000000", driver: "sandbox" },
    now,
  );
  const { id } = await tx
    .insertInto("chat_templates")
    .values({
      account_id: accountId,
      driver: "sandbox",
      business_account_id: number.business_account_id,
      name: "demo_greeting",
      language: "en",
      category: "MARKETING",
      parameter_format: "POSITIONAL",
      components: JSON.stringify([
        { type: "BODY", text: "Hello {{1}}, welcome!", example: { body_text: [["Ada"]] } },
        { type: "FOOTER", text: "Reply STOP to opt out" },
      ]),
      variable_defaults: JSON.stringify({ "1": "there" }),
      status: "APPROVED",
      quality: "GREEN",
      created_at: now,
      updated_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { chat_number_id: number.id, template_id: id };
}

/** Grants credit of each kind. */
export async function seedCredits(
  tx: Tx,
  accountId: number,
  credits: Readonly<Partial<Record<CreditKind, number>>>,
  now: Date,
): Promise<void> {
  for (const [kind, amount] of Object.entries(credits)) {
    const grant = { kind: kind as CreditKind, amount, note: "Demo" };
    await grantCredits(tx, seederOf(accountId), grant, now);
  }
}

/** Creates a chat flow and an automation flow, each with an opening message. */
export async function seedFlows(
  tx: Tx,
  account_id: number,
  now: Date,
): Promise<{ flow_id: number; automation_flow_id: string }> {
  const opening = JSON.stringify({
    type: "interactive",
    body: "Hello {{1}}, shall we call you?",
    buttons: [{ title: "Yes" }, { title: "Not now" }],
    variable_defaults: { "1": "there" },
  });
  const stamps = { account_id, opening, created_at: now, updated_at: now };
  const flow = await tx
    .insertInto("chat_flows")
    .values({ ...stamps, name: "Demo flow" })
    .returning("id")
    .executeTakeFirstOrThrow();
  const automation = await tx
    .insertInto("automation_flows")
    .values({ ...stamps, name: "Demo automation" })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { flow_id: flow.id, automation_flow_id: automation.id };
}

/** Creates a suppressed number and a group of people. */
export async function seedAudience(
  tx: Tx,
  account_id: number,
  now: Date,
): Promise<{ blacklisted_number: string; group_id: string }> {
  const reason = "Demo";
  await suppress(
    tx,
    {
      account_id,
      person: { phone: blacklisted_number },
      channel: "all",
      scope: "all",
      source: "manual",
      reason,
      evidence: null,
      occurred_at: now,
      expires_at: null,
      created_by: null,
    },
    now,
  );
  const actor = seederOf(account_id);
  const group = await createGroup(tx, actor, { name: "Demo customers" }, now);
  const members = ["9000000011", "9000000012", "9000000013"].map((phone_number, i) => ({
    phone_number,
    name: `Customer ${i + 1}`,
  }));
  await addGroupMembers(tx, actor, { id: group.id, country_code: "91" }, { members }, now);
  return { blacklisted_number, group_id: String(group.id) };
}

function seederOf(account_id: number): Actor {
  return { account_id, user_id: null, token_id: null, request_id: "demo" };
}
