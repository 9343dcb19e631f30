import assert from "node:assert/strict";
import { permissionNames, type Permission } from "../../server/accounts/permissions.ts";
import type { TestApi } from "./api.ts";
import { makeAccount, makeAgentToken, type TestAccount } from "./account-factory.ts";

/**
 * Asserts that a CRM request is refused without a token (401), without the feature or the permissions
 * (403) and to another account (404), and that each of the permissions alone suffices.
 */
export async function assertGuarded(
  api: TestApi,
  account: TestAccount,
  request: { method: string; path: string; json?: unknown },
  may: readonly Permission[],
): Promise<void> {
  const { method, path, json } = request;
  const status = async (token?: string) =>
    (await api.send(method, path, { token, json: method === "GET" ? undefined : json })).status;
  const others = permissionNames.filter((permission) => !may.includes(permission));
  const name = `${method} ${path}`;
  assert.equal(await status(), 401, `${name} without a token`);
  assert.equal(await status("trk_1_1_nonsense"), 401, `${name} with a malformed token`);
  assert.equal(await status(await makeAgentToken(api.app, account, null)), 403, `${name}: no role`);
  assert.equal(
    await status(await makeAgentToken(api.app, account, others)),
    403,
    `${name}: every other permission`,
  );
  const without = await makeAccount(api.app, { features: ["voice", "bulk_chat", "calls"] });
  assert.equal(await status(without.token), 403, `${name}: an account without the CRM`);
  if (path.includes(`/workspaces/${account.workspace_id}`)) {
    const other = await makeAccount(api.app);
    assert.equal(await status(other.token), 404, `${name}: another account`);
  }
  for (const permission of may) {
    const token = await makeAgentToken(api.app, account, [permission]);
    assert.notEqual(await status(token), 403, `${name}: ${permission}`);
  }
}

/** Returns the fields of a 422's errors, in order. */
export function failingFields(answer: { status: number; body: unknown }): string[] {
  assert.equal(answer.status, 422, JSON.stringify(answer.body));
  return (answer.body as { errors: { field: string }[] }).errors.map(({ field }) => field);
}
