import type { Tx } from "../../../lib/database/database.ts";
import { selectRouted } from "../chat-routes.ts";

/** Releases the provider's IDs of a number: that of its business account only with the last number that has an ID. */
export async function freeRoutes(
  tx: Tx,
  accountId: number,
  number: {
    readonly id: number;
    readonly driver: string;
    readonly business_account_id: string;
  },
): Promise<void> {
  const { driver, business_account_id } = number;
  await tx
    .deleteFrom("chat_routes")
    .where("account_id", "=", accountId)
    .where("driver", "=", driver)
    .where("kind", "=", "phone_number")
    .where("chat_number_id", "=", number.id)
    .execute();
  const sibling = await selectRouted(tx, accountId)
    .select("n.id")
    .where("n.driver", "=", driver)
    .where("n.business_account_id", "=", business_account_id)
    .limit(1)
    .executeTakeFirst();
  if (sibling) return;
  await tx
    .deleteFrom("chat_routes")
    .where("account_id", "=", accountId)
    .where("driver", "=", driver)
    .where("kind", "=", "business_account")
    .where("provider_id", "=", business_account_id)
    .execute();
}
