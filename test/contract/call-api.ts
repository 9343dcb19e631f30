// The fixture of the click-to-call contract tests: the endpoint and an account that may use it.
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
  /** Returns a valid body; `more` replaces and adds fields. */
  body(more?: Record<string, unknown>): Record<string, unknown>;
  /** Submits a body with the account's token. */
  submit(json: unknown, more?: RequestOptions): Promise<Answer>;
  /** Submits a valid body with `more`, asserts that it is accepted, and returns what is stored. */
  submitValid(more?: Record<string, unknown>): Promise<Stored>;
  /** Submits a body with `more`, asserts 400 on exactly these fields, and returns the message. */
  refuse(more: Record<string, unknown>, ...fields: string[]): Promise<string>;
  callCount(): Promise<number>;
};

/** The stored request of a click-to-call, and its call. */
export type Stored = {
  readonly request: Awaited<ReturnType<typeof findRequest>>;
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
    async submitValid(more) {
      const answer = await submit(body(more));
      assertSubmitted(answer);
      const { campaignId } = answer.body.data;
      return {
        request: await findRequest(api, account_id, campaignId),
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

/** Returns the fields that an error message gives reasons for, in order. */
export function fieldsNamed(message: string): string[] {
  return [...message.matchAll(/(?:^|; )(\w+): \S+ \S/g)].map((match) => match[1]!);
}

function findRequest({ app }: TestApi, accountId: number, campaignId: number) {
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

/** Asserts that the call was accepted, with the contract's exact response. */
export function assertSubmitted(answer: Answer): void {
  assert.equal(answer.status, 200, answer.text);
  const id = answer.body.data?.campaignId;
  assert.equal(
    answer.text,
    `{"status":200,"message":"Campaign Submitted Successfully","data":{"campaignId":${id}}}`,
  );
  assert.ok(Number.isSafeInteger(id) && id > 0);
}

/** Asserts that a response is exactly this endpoint's error with that status; returns its message. */
export function assertCallError(answer: Answer, status: number): string {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
  assert.deepEqual(Object.keys(answer.body), ["status", "message"], answer.text);
  assert.equal(answer.body.status, status);
  assert.match(answer.body.message, /\S/);
  assert.match(answer.headers.get("x-request-id") ?? "", /^req_/);
  return answer.body.message as string;
}
