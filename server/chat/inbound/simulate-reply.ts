// Answers a message as its customer would, so that people can try the sandbox like a phone.
import type { Kysely } from "kysely";
import Type, { type Static } from "typebox";
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import type { ChatDriverName } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import { closed, optional } from "../../lib/schemas.ts";

export const SimulatedReply = closed(
  {
    text: Type.String({
      minLength: 1,
      maxLength: 4_096,
      description: "What the customer types, or the text of the button that is pressed",
    }),
    payload: optional(
      Type.String({ maxLength: 256, description: "Of the button; omitted or null: typed text" }),
    ),
  },
  {
    title: "SimulatedChatReply",
    description: "A customer's answer, on a number of the sandbox",
    examples: [{ text: "STOP" }],
  },
);
export type SimulatedReply = Static<typeof SimulatedReply>;

/**
 * Builds the webhook of a customer's answer to a recipient's message. The caller gives it to the webhook receiver, so
 * that it takes a real reply's way. Errors: not-found; conflict unless the number is the sandbox's and has sent the
 * message.
 */
export async function buildSimulatedReply(
  db: Kysely<DB>,
  { chatDrivers }: Pick<App, "chatDrivers">,
  { account_id, campaign_id, id }: CampaignKey & { readonly id: number },
  { text, payload = null }: SimulatedReply,
  now: Date,
): Promise<{ readonly driver: ChatDriverName; readonly body: string }> {
  const found = await db
    .selectFrom("chat_recipients as r")
    .innerJoin("chat_campaigns as c", (join) =>
      join.onRef("c.account_id", "=", "r.account_id").onRef("c.id", "=", "r.campaign_id"),
    )
    .innerJoin("chat_numbers as n", (join) =>
      join.onRef("n.account_id", "=", "c.account_id").onRef("n.id", "=", "c.chat_number_id"),
    )
    .select(["r.phone", "r.bsuid", "r.provider_message_id as answers", "n.driver"])
    .select(["n.business_account_id", "n.provider_phone_number_id as phone_number_id"])
    .where("r.account_id", "=", account_id)
    .where("c.account_id", "=", account_id)
    .where("n.account_id", "=", account_id)
    .where("r.campaign_id", "=", campaign_id)
    .where("r.id", "=", id)
    .executeTakeFirst();
  if (!found) throw notFound();
  const { answers, phone, bsuid, phone_number_id, business_account_id } = found;
  const driver = found.driver as ChatDriverName;
  const simulate = chatDrivers[driver]?.simulateReply;
  if (!simulate)
    throw new Refusal("conflict", "Only customers of a sandbox number can be simulated");
  if (answers === null)
    throw new Refusal("conflict", "This recipient has no message yet that could be answered");
  const from = { phone_number_id, business_account_id };
  const reply = { from: phone, bsuid, answers, text, payload, at: now };
  return { driver, body: JSON.stringify(simulate(from, reply)) };
}
