// The campaign endpoint with an account that may use it: what the contract's chat tests stand on.
import assert from "node:assert/strict";
import { startApi, type Answer, type RequestOptions, type TestApi } from "../support/api.ts";
import { makeChatNumber, makeChatTemplate, type TestChatNumber } from "../support/chat-factory.ts";
import { makeAccount, makeCredits, unique, type TestAccount } from "../support/account-factory.ts";
import { assertProblem } from "./lead-api.ts";

export const campaigns_path = "/api/v1/chat/campaigns";

/** A number that no other call of this process gave. */
export function uniquePhone(): string {
  return `9198${unique("").slice(1).padStart(8, "0")}`;
}

export type ChatApi = {
  readonly api: TestApi;
  readonly account: TestAccount;
  readonly number: TestChatNumber;
  readonly template_id: number;
  /** A body that is right, with one recipient; `more` replaces and adds fields. */
  body(more?: Record<string, unknown>): Record<string, unknown>;
  /** Creates a campaign by the account's token, under a key of its own unless the headers have one. */
  create(json: unknown, more?: RequestOptions): Promise<Answer>;
  /** The same of a right body with some fields replaced, refused with 422 on exactly these fields. */
  refuse(more: Record<string, unknown>, ...fields: string[]): Promise<string[]>;
  campaignCount(): Promise<number>;
  /** The campaign's recipients in their order. */
  recipients(campaignId: number): Promise<{ phone: string; variables: unknown; state: string }[]>;
};

/** Starts the API with an account, a number, an approved template and credit; close `api` in `after`. */
export async function startChatApi(
  options: Parameters<typeof startApi>[0] & { credit?: number } = {},
): Promise<ChatApi> {
  const api = await startApi(options);
  const { app } = api;
  const account = await makeAccount(app);
  // The tests of a file share one window.
  await app.db.query
    .updateTable("accounts")
    .set({ chat_writes_a_minute: 100_000 })
    .where("account_id", "=", account.account_id)
    .execute();
  await makeCredits(app, account, { chat: options.credit ?? 1_000_000 });
  const number = await makeChatNumber(app, account);
  const template_id = await makeChatTemplate(app, account, number);
  const body = (more: Record<string, unknown> = {}) => ({
    name: "Spring sale",
    chat_number_id: number.id,
    template_id,
    contacts: [{ phone_number: uniquePhone(), variables: { "1": "Ada" } }],
    ...more,
  });
  const create = (json: unknown, { headers, ...more }: RequestOptions = {}) =>
    api.send("POST", campaigns_path, {
      token: account.token,
      json,
      headers: { "idempotency-key": unique("key"), ...headers },
      ...more,
    });
  return {
    api,
    account,
    number,
    template_id,
    body,
    create,
    async refuse(more, ...fields) {
      const answer = await create(body(more));
      assertProblem(answer, 422, "validation-failed");
      const errors = answer.body.errors as { field: string; reason: string }[];
      assert.deepEqual(
        errors.map(({ field }) => field),
        fields,
        answer.text,
      );
      return errors.map(({ reason }) => reason);
    },
    async campaignCount() {
      const { count } = await app.db.query
        .selectFrom("chat_campaigns")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .where("account_id", "=", account.account_id)
        .executeTakeFirstOrThrow();
      return count;
    },
    recipients: (campaignId) =>
      app.db.query
        .selectFrom("chat_recipients")
        .select((eb) => [eb.ref("phone").$notNull().as("phone"), "variables", "state"])
        .where("account_id", "=", account.account_id)
        .where("campaign_id", "=", campaignId)
        .orderBy("id")
        .execute(),
  };
}
