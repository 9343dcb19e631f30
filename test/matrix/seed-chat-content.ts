import type { TestApi } from "../support/api.ts";
import {
  makeAutomationFlow,
  makeChatFlow,
  makeChatNumber,
  makeChatTemplate,
} from "../support/chat-factory.ts";
import type { TestAccount } from "../support/account-factory.ts";
import type { Ids } from "./seed-ids.ts";

/** Creates a number with a hold, a template and flows, none of them in use. */
export async function seedChatContent(
  { app }: TestApi,
  account: TestAccount,
  mark: string,
): Promise<
  Pick<Ids, "free_chat_number_id" | "free_template_id" | "chat_flow_id" | "automation_flow_id">
> {
  const number = await makeChatNumber(app, account);
  await app.db.query
    .insertInto("chat_holds")
    .values({
      account_id: account.account_id,
      scope: "number",
      subject_id: number.id,
      reason: "sender_restricted",
      detail: mark,
      set_at: app.clock.now(),
    })
    .execute();
  const opening = { type: "interactive", body: `${mark} {{1}}`, variable_defaults: { "1": mark } };
  return {
    free_chat_number_id: number.id,
    free_template_id: await makeChatTemplate(app, account, number, {
      variable_defaults: { "1": mark },
    }),
    chat_flow_id: await makeChatFlow(app, account, { opening }),
    automation_flow_id: await makeAutomationFlow(app, account, { opening }),
  };
}
