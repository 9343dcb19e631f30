// The click-to-call endpoint with an account that may use it: what the contract's tests stand on.
import assert from "node:assert/strict";
import { startApi, type Answer, type RequestOptions, type TestApi } from "../support/api.ts";
import { makeCallingAccount, makeSandboxTrunk } from "../support/telephony-factory.ts";
import type { TestAccount } from "../support/account-factory.ts";

export const call_path = "/api/v1/clickToCallApis/clickToCall";

export type CallApi = {
  readonly api: TestApi;
  readonly account: TestAccount;
  readonly node_id: number;
  readonly trunk_id: number;
  /** A body that is right; `more` replaces and adds fields. */
  body(more?: Record<string, unknown>): Record<string, unknown>;
  /** Submits it by the account's token. */
  submit(json: unknown, more?: RequestOptions): Promise<Answer>;
  /** The same of a right body with some fields replaced, taken; returns what is stored of it. */
  take(more?: Record<string, unknown>): Promise<Stored>;
  /** The same, refused with 400 on exactly these fields; returns the message. */
  refuse(more: Record<string, unknown>, ...fields: string[]): Promise<string>;
  callCount(): Promise<number>;
};

/** What is stored of a click-to-call: what was asked, and its one call. */
export type Stored = {
  readonly asked: Awaited<ReturnType<typeof findAsked>>;
  readonly call: Awaited<ReturnType<typeof findCall>>;
};

/** Starts the API with an account, call credit, and a trunk of the sandbox; close `api` in `after`. */
export async function startCallApi(
  options: Parameters<typeof startApi>[0] & { credits?: number } = {},
): Promise<CallApi> {
  const api = await startApi(options);
  const account = await makeCallingAccount(api.app, { credits: options.credits ?? 100_000 });
  const { account_id, token } = account;
  const trunk = await makeSandboxTrunk(api.app, account);
  const body = (more: Record<string, unknown> = {}) => ({
    to_number: "9876543210",
    from_number: "101",
    ...more,
  });
  const submit = (json: unknown, more: RequestOptions = {}) =>
    api.send("POST", call_path, { token, json, ...more });
  return {
    api,
    account,
    ...trunk,
    body,
    submit,
    async take(more) {
      const answer = await submit(body(more));
      assertSubmitted(answer);
      const { campaignId } = answer.body.data;
      return {
        asked: await findAsked(api, account_id, campaignId),
        call: await findCall(api, account_id, campaignId),
      };
    },
    async refuse(more, ...fields) {
      const answer = await submit(body(more));
      const message = assertCallError(answer, 400);
      assert.deepEqual(fieldsNamed(message), fields, message);
      return message;
    },
    async callCount() {
      const { count } = await api.app.db.query
        .selectFrom("calls")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .where("account_id", "=", account_id)
        .executeTakeFirstOrThrow();
      return count;
    },
  };
}

/** The fields that an error's message gives a reason for, in their order. */
export function fieldsNamed(message: string): string[] {
  return [...message.matchAll(/(?:^|; )(\w+): \S+ \S/g)].map((match) => match[1]!);
}

function findAsked({ app }: TestApi, accountId: number, campaignId: number) {
  return app.db.query
    .selectFrom("click_to_calls")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("campaign_id", "=", campaignId)
    .executeTakeFirstOrThrow();
}

function findCall({ app }: TestApi, accountId: number, campaignId: number) {
  return app.db.query
    .selectFrom("calls")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("campaign_id", "=", campaignId)
    .executeTakeFirstOrThrow();
}

/** Asserts that the call was submitted, and answered as the contract says, to the letter. */
export function assertSubmitted(answer: Answer): void {
  assert.equal(answer.status, 200, answer.text);
  const id = answer.body.data?.campaignId;
  assert.equal(
    answer.text,
    `{"status":200,"message":"Campaign Submitted Successfully","data":{"campaignId":${id}}}`,
  );
  assert.ok(Number.isSafeInteger(id) && id > 0);
}

/** Asserts that an answer is this endpoint's error of that status, and nothing more; returns its message. */
export function assertCallError(answer: Answer, status: number): string {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
  assert.deepEqual(Object.keys(answer.body), ["status", "message"], answer.text);
  assert.equal(answer.body.status, status);
  assert.match(answer.body.message, /\S/);
  assert.match(answer.headers.get("x-request-id") ?? "", /^req_/);
  return answer.body.message as string;
}
