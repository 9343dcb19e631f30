import Type, { type Static } from "typebox";
import type { ChatDriverName } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import { invalidField } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { closed, id } from "../../lib/schemas.ts";
import { callProvider, driverOf } from "../numbers/call-provider.ts";
import { businessRouteOf } from "../numbers/chat-routes.ts";
import { syncTemplates, type SyncResult } from "./sync-templates.ts";

export const TemplateSync = closed(
  { chat_number_id: id("Whose business account's templates are fetched") },
  { title: "NewTemplateSync", examples: [{ chat_number_id: 1 }] },
);
export type TemplateSync = Static<typeof TemplateSync>;

export const TemplateSyncResponse = Type.Object(
  {
    total: Type.Integer({ description: "Templates at the provider" }),
    added: Type.Integer(),
    updated: Type.Integer(),
    gone: Type.Integer({ description: "No longer at the provider, DISABLED here" }),
  },
  { title: "TemplateSync" },
);

/**
 * Fetches the templates of a number's business account now. Errors: validation-failed for an unknown
 * number or a rejection by the provider; unavailable when the provider is unreachable.
 */
export async function syncNumberTemplates(
  app: App,
  accountId: number,
  { chat_number_id }: TemplateSync,
): Promise<SyncResult> {
  const number = await app.db.query
    .selectFrom("chat_numbers")
    .select(["driver", "business_account_id"])
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(chat_number_id))
    .executeTakeFirst();
  if (!number) throw invalidField("chat_number_id", "is not a chat number of this account");
  const business = {
    account_id: accountId,
    driver: number.driver as ChatDriverName,
    business_account_id: number.business_account_id,
  };
  const driver = await driverOf(app, businessRouteOf(business), accountId);
  return callProvider("chat_number_id", () => syncTemplates(app, driver, business));
}
