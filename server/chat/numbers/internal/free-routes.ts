import type { Tx } from "../../../lib/database/database.ts";

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
  const sibling = await tx
    .selectFrom("chat_numbers as n")
    .innerJoin("chat_routes as r", (join) =>
      join
        .onRef("r.account_id", "=", "n.account_id")
        .onRef("r.driver", "=", "n.driver")
        .onRef("r.chat_number_id", "=", "n.id"),
    )
    .select("n.id")
    .where("n.account_id", "=", accountId)
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
