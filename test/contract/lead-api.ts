// A fixture with an account that may create leads, for the contract tests.
import assert from "node:assert/strict";
import { startApi, type Answer, type RequestOptions, type TestApi } from "../support/api.ts";
import { makeAccount, type TestAccount } from "../support/account-factory.ts";

export type LeadApi = {
  readonly api: TestApi;
  readonly account: TestAccount;
  /** Creates a lead in the account's workspace with the account's token. */
  create(json: unknown, more?: RequestOptions): Promise<Answer>;
  /** Creates a lead from a raw body, as JSON unless the headers say otherwise. */
  createRaw(raw: string | Buffer, headers?: Record<string, string>): Promise<Answer>;
  /** Asserts a 422 on exactly this field, and returns the reason. */
  refuse(json: unknown, field: string): Promise<string>;
  leadCount(): Promise<number>;
};

/** Starts the API with an account and its workspace; close `api` in `after`. */
export async function startLeadApi(options: Parameters<typeof startApi>[0] = {}): Promise<LeadApi> {
  const api = await startApi(options);
  const account = await makeAccount(api.app);
  const path = leadPath(account.workspace_id);
  const create = (json: unknown, more: RequestOptions = {}) =>
    api.send("POST", path, { token: account.token, json, ...more });
  return {
    api,
    account,
    create,
    createRaw: (raw, headers = {}) =>
      api.send("POST", path, {
        token: account.token,
        raw,
        headers: { "content-type": "application/json", ...headers },
      }),
    async refuse(json, field) {
      const answer = await create(json);
      assertProblem(answer, 422, "validation-failed");
      assert.deepEqual(
        answer.body.errors.map((error: { field: string }) => error.field),
        [field],
        answer.text,
      );
      return answer.body.errors[0].reason;
    },
    async leadCount() {
      const { count } = await api.app.db.query
        .selectFrom("leads")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .where("account_id", "=", account.account_id)
        .executeTakeFirstOrThrow();
      return count;
    },
  };
}

/** Returns the contract's path for a workspace, or for any other text in its place. */
export function leadPath(workspaceId: number | string): string {
  return `/api/v1/crm/workspaces/${workspaceId}/leads/create`;
}

/** Asserts that an answer is a problem of this status and type, with the standard keys and no others. */
export function assertProblem(answer: Answer, status: number, type: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/problem+json", answer.text);
  const { errors, ...rest } = answer.body as Record<string, unknown>;
  assert.deepEqual(Object.keys(rest), ["type", "title", "status", "detail", "request_id"]);
  assert.equal(rest["type"], type, answer.text);
  assert.equal(rest["status"], status);
  assert.equal(rest["request_id"], answer.headers.get("x-request-id"));
  for (const key of ["title", "detail"]) assert.match(String(rest[key]), /\S/);
  assert.equal(errors !== undefined, status === 422, answer.text);
  if (errors !== undefined) assertFieldErrors(errors);
}

function assertFieldErrors(errors: unknown): void {
  assert.ok(Array.isArray(errors) && errors.length > 0 && errors.length <= 100);
  for (const error of errors as Record<string, unknown>[]) {
    assert.deepEqual(Object.keys(error), ["field", "reason"]);
    assert.ok(typeof error["field"] === "string" && error["field"] !== "");
    assert.ok(typeof error["reason"] === "string" && error["reason"] !== "");
  }
}
