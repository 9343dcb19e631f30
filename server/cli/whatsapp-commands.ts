import {
  validateWhatsappCredential,
  WhatsappCredential,
} from "../chat/credentials/credential-schema.ts";
import {
  deleteWhatsappCredential,
  listWhatsappCredentials,
  setWhatsappCredential,
} from "../chat/credentials/credentials.ts";
import { createChatNumber } from "../chat/numbers/create-chat-number.ts";
import { unbindChatNumbers } from "../chat/numbers/unbind-chat-numbers.ts";
import { NewChatNumber, validateNewChatNumber } from "../chat/numbers/chat-number-schema.ts";
import { invalid } from "../lib/errors.ts";
import type { Command, Outcome, Words } from "./command.ts";
import { everyPage } from "./every-page.ts";
import { readSecretFile } from "./read-secret-file.ts";
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
  {
    name: "whatsapp unbind",
    summary:
      "Take a WhatsApp number from an account, by its ID at WhatsApp, or a business account with all its numbers",
    operands: ["account", "id"],
    run: unbind,
  },
  {
    name: "whatsapp credential set",
    summary: "Set the WhatsApp credential of an account",
    operands: ["account"],
    options: {
      "access-token-file": { value: "file", about: "Contains the access token", required: true },
      "app-secret-file": { value: "file", about: "Contains the secret of its own Meta app" },
      "verify-token-file": { value: "file", about: "Contains that app's verify token" },
    },
    run: setCredential,
  },
  {
    name: "whatsapp credential list",
    summary: "List the accounts with a WhatsApp credential of their own",
    run: async (session) => {
      const db = await session.migratedDatabase();
      const found = await everyPage((page) => listWhatsappCredentials(db.query, page));
      const columns = ["account_id", "own_app", "updated_at"] as const;
      return { json: { data: found }, text: textTable(found, columns) };
    },
  },
  {
    name: "whatsapp credential remove",
    summary: "Delete an account's WhatsApp credential; its numbers use the installation's",
    operands: ["account"],
    run: async (session, words) => {
      const id = readId("account", words.operands[0]!);
      await session.change(id, (tx, { actor }) =>
        deleteWhatsappCredential(tx, actor, id, session.now()),
      );
      return { json: { account_id: id }, text: `The credential of account ${id} is deleted` };
    },
  },
];

async function setCredential(session: Session, words: Words): Promise<Outcome> {
  const id = readId("account", words.operands[0]!);
  const wanted = readAs(WhatsappCredential, {
    access_token: await readSecretFile(words, "access-token-file"),
    app_secret: await readSecretFile(words, "app-secret-file"),
    verify_token: await readSecretFile(words, "verify-token-file"),
  });
  const violations = validateWhatsappCredential(wanted);
  if (violations.length > 0) throw invalid(violations);
  const at = { now: session.now(), secrets: session.secrets() };
  const set = await session.change(id, (tx, { actor }) =>
    setWhatsappCredential(tx, actor, id, wanted, at),
  );
  return { json: set, text: textTable([set], ["account_id", "own_app"]) };
}

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

async function unbind(session: Session, words: Words): Promise<Outcome> {
  const id = readId("account", words.operands[0]!);
  const provider_id = words.operands[1]!;
  const { numbers, unfinished_campaigns } = await session.change(id, (tx, { actor }) =>
    unbindChatNumbers(tx, actor, provider_id, session.now()),
  );
  const text = [
    ...(numbers.length > 0 ? [textTable(numbers, number_columns)] : []),
    `${provider_id} no longer belongs to account ${id}.`,
    ...(unfinished_campaigns > 0
      ? [
          `${unfinished_campaigns} campaigns have not ended and send nothing: cancel them, or add the number to the account again.`,
        ]
      : []),
  ].join("\n");
  return { json: { account_id: id, numbers, unfinished_campaigns }, text };
}
