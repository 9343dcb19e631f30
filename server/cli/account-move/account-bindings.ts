// What an account binds of its installation: numbers, WhatsApp access and credit. A file brings it from another operator,
// and only the operator here knows whether the numbers are the account's.
import type { Client } from "./moved-tables.ts";

export type AccountBindings = {
  readonly phone_numbers: readonly string[];
  readonly whatsapp_numbers: readonly string[];
  /** Whose webhooks it receives, beside those of its numbers. */
  readonly whatsapp_routes: readonly string[];
  /** Whether it sends with a credential of its own, not with the installation's token. */
  readonly has_credential: boolean;
  /** Available credit by kind. */
  readonly credit: readonly string[];
};

/** Reads what the account's rows bind. */
export async function readBindings(client: Client, account_id: number): Promise<AccountBindings> {
  const read = async <Row extends object>(query: string) =>
    (await client.query<Row>(query, [account_id])).rows;
  const phones = await read<{ number: string }>(
    "select number from phone_numbers where account_id = $1 order by number",
  );
  const numbers = await read<{ phone: string; id: string }>(
    `select phone, provider_phone_number_id as id from chat_numbers
     where account_id = $1 and driver = 'whatsapp' order by phone, id`,
  );
  const routes = await read<{ kind: string; id: string }>(
    `select replace(kind, '_', ' ') as kind, provider_id as id from chat_routes
     where account_id = $1 and driver = 'whatsapp' order by kind, id`,
  );
  const credentials = await read("select from whatsapp_credentials where account_id = $1");
  const balances = await read<{ kind: string; available: string }>(
    "select kind, available::text as available from credit_balances where account_id = $1 order by kind",
  );
  const listed = new Set(numbers.map(({ id }) => `phone number ${id}`));
  return {
    phone_numbers: phones.map(({ number }) => number),
    whatsapp_numbers: numbers.map(({ phone, id }) => `${phone} (ID ${id})`),
    whatsapp_routes: routes
      .map(({ kind, id }) => `${kind} ${id}`)
      .filter((route) => !listed.has(route)),
    has_credential: credentials.length > 0,
    credit: balances.map(({ kind, available }) => `${available} ${kind}`),
  };
}

/** Notes what an account from a file binds, for the operator who checks it. */
export function bindingNotes({
  phone_numbers,
  whatsapp_numbers,
  whatsapp_routes,
  has_credential,
  credit,
}: AccountBindings): string[] {
  const token = has_credential
    ? "the account's own credential"
    : "this installation's token, because the account has no credential of its own";
  const check = "Check that they are the account's before you activate it";
  return [
    phone_numbers.length > 0 &&
      `${check}: the phone numbers ${phone_numbers.join(", ")}, which it shows and is called on.`,
    whatsapp_numbers.length > 0 &&
      `${check}: the WhatsApp numbers ${whatsapp_numbers.join(", ")}, from which it sends with ${token}.`,
    whatsapp_routes.length > 0 &&
      `${check}: at WhatsApp, the ${whatsapp_routes.join(", ")}, whose webhooks it receives.`,
    `Check the available credit that the file brings: ${credit.join(", ") || "none"}.`,
  ].filter((note) => note !== false);
}
