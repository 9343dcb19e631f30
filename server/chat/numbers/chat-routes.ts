// Which account has a provider's ID. An operator may take one from an account, whose number and templates then stay.
import type { Kysely } from "kysely";
import type { ChatDriverName } from "../../drivers/chat/driver.ts";
import type { DB } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";

export type ChatRouteId = {
  readonly driver: ChatDriverName;
  readonly kind: "phone_number" | "business_account";
  readonly provider_id: string;
};

/** Returns the ID of a number at its provider. */
export function phoneRouteOf(number: {
  readonly driver: string;
  readonly provider_phone_number_id: string;
}): ChatRouteId {
  const { provider_phone_number_id: provider_id } = number;
  return { driver: number.driver as ChatDriverName, kind: "phone_number", provider_id };
}

/** Returns the ID of a business account at its provider. */
export function businessRouteOf(business: {
  readonly driver: ChatDriverName;
  readonly business_account_id: string;
}): ChatRouteId {
  const { driver, business_account_id: provider_id } = business;
  return { driver, kind: "business_account", provider_id };
}

/** Selects the account's numbers `n` that have their provider's ID, with its route `r`. */
export function selectRouted(db: Kysely<DB>, accountId: number) {
  return db
    .selectFrom("chat_numbers as n")
    .innerJoin("chat_routes as r", (join) =>
      join
        .onRef("r.account_id", "=", "n.account_id")
        .onRef("r.driver", "=", "n.driver")
        .onRef("r.chat_number_id", "=", "n.id"),
    )
    .where("n.account_id", "=", accountId);
}

/** Returns whether the account has the provider's ID, for this number if one is given. */
export async function hasRoute(
  db: Kysely<DB>,
  accountId: number,
  { driver, kind, provider_id }: ChatRouteId,
  numberId?: number,
): Promise<boolean> {
  const own = await db
    .selectFrom("chat_routes")
    .select("chat_number_id")
    .where("driver", "=", driver)
    .where("kind", "=", kind)
    .where("provider_id", "=", provider_id)
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  return own !== undefined && (numberId === undefined || own.chat_number_id === numberId);
}

/** Throws conflict unless the account has the provider's ID, for this number if one is given. */
export async function requireRoute(
  db: Kysely<DB>,
  accountId: number,
  route: ChatRouteId,
  numberId?: number,
): Promise<void> {
  if (await hasRoute(db, accountId, route, numberId)) return;
  throw new Refusal(
    "conflict",
    `The ${route.kind.replace("_", " ")} ${route.provider_id} was taken from the account; an operator can add it again`,
  );
}
