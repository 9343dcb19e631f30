import Type from "typebox";
import { buildSimulatedReply, SimulatedReply } from "../../../chat/inbound/simulate-reply.ts";
import { closed, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";

export const simulatedReplyRoutes = [
  route({
    method: "POST",
    url: "/api/v1/chat/campaigns/:id/recipients/:recipientId/simulated-replies",
    id: "createSimulatedReply",
    summary: "Answer a message as its customer, on a number of the sandbox",
    tag: "Chat replies",
    access: { features: ["bulk_chat"], anyOf: ["chat.campaigns.manage"] },
    params: closed({ id: pathId("The campaign"), recipientId: pathId("The recipient") }),
    body: SimulatedReply,
    success: { 204: Type.Null() },
    handle: async ({ app, caller, params: { id: campaign_id, recipientId }, body, write }) => {
      const account_id = caller.account.id;
      const recipient = { account_id, campaign_id, id: recipientId };
      const webhooks: Awaited<ReturnType<typeof buildSimulatedReply>>[] = [];
      await write(async (tx) => {
        webhooks.push(await buildSimulatedReply(tx, app, recipient, body, app.clock.now()));
      });
      // None for a repetition with the same key.
      for (const webhook of webhooks)
        await app.webhookReceiver.take(webhook.driver, webhook.body, account_id);
    },
  }),
];
