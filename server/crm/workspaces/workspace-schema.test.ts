import assert from "node:assert/strict";
import { test } from "node:test";
import { startApi } from "../../../test/support/api.ts";
import { makeAccount } from "../../../test/support/account-factory.ts";
import { openWorkspaceSchemas } from "./workspace-schema.ts";

test("a full cache keeps the schema used last and drops the one used longest ago", async (t) => {
  const api = await startApi();
  t.after(() => api.close());
  const [used, idle, added] = [
    await makeAccount(api.app),
    await makeAccount(api.app),
    await makeAccount(api.app),
  ];
  const now_ms = performance.now();
  t.mock.method(performance, "now", () => now_ms);
  const schemas = openWorkspaceSchemas(api.app, 2);
  const find = ({ account_id, workspace_id }: typeof used) =>
    schemas.find(account_id, workspace_id);
  for (const account of [used, idle, used, added]) assert.ok(await find(account));
  await api.app.db.pool.query("update workspaces set schema_version = 1000");
  const isCached = async (account: typeof used) => (await find(account))!.version !== 1000;
  assert.deepEqual([await isCached(used), await isCached(added)], [true, true]);
  assert.equal(await isCached(idle), false);
});
