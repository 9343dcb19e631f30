import { sendTestMessage } from "../../../chat/single-messages/send-test-message.ts";
import {
  TestMessage,
  TestMessageResponse,
} from "../../../chat/single-messages/test-message-schema.ts";
import type { RateLimit } from "../../checks/rate-limit.ts";
import { route } from "../../route.ts";
import { storeSent } from "../shared/store-sent.ts";

/** Test messages bypass the number's send rate, so there may be few of them. */
const rate_limit: RateLimit = {
  endpoint: "chat_tests",
  limit_a_minute: () => 60,
  default_limit: 60,
};

export const chatTestMessageRoutes = [
  route({
    method: "POST",
    url: "/api/v1/chat/campaigns/test",
    id: "sendChatTest",
    summary: "Send a test message immediately",
    tag: "Chat campaigns",
    access: { features: ["bulk_chat"], anyOf: ["chat.campaigns.create"] },
    rate_limit,
    body: TestMessage,
    success: { 200: TestMessageResponse },
    handle: async (context) => {
      const { app, caller, actor, body, request } = context;
      const tester = { account: caller.account, actor, key: request.keyed?.key ?? null };
      const answer = await sendTestMessage(app, tester, body);
      return storeSent(context, answer);
    },
  }),
];
