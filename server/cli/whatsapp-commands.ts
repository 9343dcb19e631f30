import { createChatNumber } from "../chat/numbers/create-chat-number.ts";
import { NewChatNumber, validateNewChatNumber } from "../chat/numbers/chat-number-schema.ts";
import { invalid } from "../lib/errors.ts";
import type { Command, Outcome, Words } from "./command.ts";
import { readAs, readId, readNumber } from "./read-words.ts";
import type { Session } from "./session.ts";
import { textTable } from "./text-table.ts";

const number_columns = [
  "id",
  "name",
  "phone_number",
  "provider_phone_number_id",
  "business_account_id",
] as const;

export const whatsappCommands: readonly Command[] = [
  {
    name: "whatsapp bind",
    summary: "Add a WhatsApp number to an account",
    operands: ["account"],
    options: {
      name: { value: "name", about: "Display name", required: true },
      "phone-number": { value: "number", about: "With country code", required: true },
      "phone-number-id": { value: "id", about: "Of the number at WhatsApp", required: true },
      "business-account-id": {
        value: "id",
        about: "Of the number's WhatsApp business account",
        required: true,
      },
      rate: { value: "number", about: "Messages per second, 1 to 1000; 80 by default" },
    },
    run: bind,
  },
];

async function bind(session: Session, words: Words): Promise<Outcome> {
  const id = readId("account", words.operands[0]!);
  const wanted = readAs(NewChatNumber, {
    name: words.option("name"),
    phone_number: words.option("phone-number"),
    driver: "whatsapp",
    provider_phone_number_id: words.option("phone-number-id"),
    business_account_id: words.option("business-account-id"),
    rate_per_second: readNumber(words.option("rate")),
  });
  const violations = validateNewChatNumber(wanted);
  if (violations.length > 0) throw invalid(violations);
  const number = await session.change(id, (tx, { actor }) =>
    createChatNumber(tx, actor, wanted, session.now()),
  );
  return { json: number, text: textTable([number], number_columns) };
}
