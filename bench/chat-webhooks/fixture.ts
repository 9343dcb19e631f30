// A chat number, and a campaign whose messages the provider has accepted.
import { writeFile } from "node:fs/promises";
import pg from "pg";
import type { App } from "../../server/engine/app.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../test/support/chat-factory.ts";
import { openTestWhatsapp, signatureOf, statusHook } from "../../test/support/chat-webhooks.ts";
import { makeAccount, makeCredits } from "../../test/support/account-factory.ts";
import { makeMessageId } from "../../server/chat/messages/message-id.ts";
import { openBenchApp } from "../lib/open-bench-app.ts";

export type Fixture = {
  readonly app: App;
  readonly database_url: string;
  readonly db: pg.Client;
  readonly account_id: number;
  readonly chat_number_id: number;
  readonly campaign_id: number;
  readonly recipients: number;
  /** Lines of "<signature> <body>": sent, delivered and read of each recipient, shuffled. */
  readonly file: string;
  close(): Promise<void>;
};

/** Creates `count` recipients and the file of their webhooks. */
export async function openFixture(
  database_url: string,
  file: string,
  count: number,
): Promise<Fixture> {
  const app = openBenchApp(database_url, { whatsapp: openTestWhatsapp() });
  const db = new pg.Client({ connectionString: database_url });
  await db.connect();
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: count });
  const number = await makeChatNumber(app, account, { driver: "whatsapp" });
  const template_id = await makeChatTemplate(app, account, number, { driver: "whatsapp" });
  const phones = Array.from({ length: count }, (_, i) => ({ phone: String(919_000_000_000 + i) }));
  const campaign_id = await makeChatCampaign(app, account, number, template_id, phones);
  const { account_id } = account;
  const { rows } = await db.query<{ id: string }>(
    "select id from chat_recipients where account_id = $1 and campaign_id = $2 order by id",
    [account_id, campaign_id],
  );
  await acceptAll(db, { account_id, campaign_id });
  const statuses = (["sent", "delivered", "read"] as const).flatMap((status) =>
    rows.map(({ id }) => ({ status, recipient_id: Number(id) })),
  );
  const lines = shuffled(statuses).map(({ status, recipient_id }) => {
    const message_id = makeMessageId({ account_id, campaign_id, recipient_id, dispatches: 1 });
    const wamid = `wamid.HBgMOTE5MDAwMDAwMDAwFQIAERgSQUJDREVGMDEyMzQ1Njc4OUFC${recipient_id}`;
    const body = statusHook(number, [{ id: wamid, status, message_id }]);
    return `${signatureOf(body)} ${body}\n`;
  });
  await writeFile(file, lines.join(""));
  await db.query("vacuum analyze");
  const close = async () => {
    await db.end();
    await app.close();
  };
  const ids = { account_id, chat_number_id: number.id, campaign_id };
  return { app, database_url, db, ...ids, recipients: count, file, close };
}

/** Puts the recipients into the state after sending: dispatched once, accepted, credit captured. */
async function acceptAll(
  db: pg.Client,
  { account_id, campaign_id }: { account_id: number; campaign_id: number },
): Promise<void> {
  for (const [state, dispatches] of [
    ["dispatching", 0],
    ["accepted", 1],
  ] as const) {
    await db.query(
      `select count(*) from chat_move_recipients_json($1, 'sender', (
         select json_agg(json_build_object('campaign_id', campaign_id, 'id', id,
           'dispatches', $4::int, 'state', $3::text))
         from chat_recipients where account_id = $1 and campaign_id = $2), now())`,
      [account_id, campaign_id, state, dispatches],
    );
  }
}

/** Returns the list in a fixed shuffled order. */
function shuffled<T>(list: readonly T[]): T[] {
  const places = new Map(list.map((one, i) => [one, (i * 2_654_435_761) % 4_294_967_296]));
  return list.toSorted((a, b) => places.get(a)! - places.get(b)!);
}
