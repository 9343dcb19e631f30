// Revokes a token while uploads of CSV files with it wait for another file of their account.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { csvParsing } from "../../server/lib/csv/csv-parsing.ts";
import type { Answer, TestApi } from "./api.ts";
import type { TestAccount } from "./account-factory.ts";
import { eventually } from "./eventually.ts";

/** Returns the answers of the uploads that `send` starts; the account's own token revokes `token` while they wait. */
export async function revokeWhileCsvWaits(
  t: TestContext,
  api: TestApi,
  { account_id, token: admin }: TestAccount,
  token: string,
  send: () => Promise<Answer>[],
): Promise<Answer[]> {
  const parsing = t.mock.method(csvParsing, "use");
  const { promise: first, resolve: end } = Promise.withResolvers<void>();
  const running = csvParsing.use(account_id, () => first);
  const answers = send();
  try {
    await eventually(() => parsing.mock.callCount() === 1 + answers.length);
    const revoke = `/api/v1/tokens/${token.split("_")[2]}/revoke`;
    assert.equal((await api.send("POST", revoke, { token: admin })).status, 200);
    await eventually(async () => (await api.send("GET", "/api/v1/me", { token })).status === 401);
  } finally {
    end();
    await running;
  }
  return Promise.all(answers);
}
