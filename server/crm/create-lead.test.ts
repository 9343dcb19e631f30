import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { makeAccount, type TestAccount } from "../../test/support/makers.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

const create = (json: unknown, more: object = {}) =>
  api.send("POST", `/api/v1/crm/workspaces/${account.workspace_id}/leads/create`, {
    token: account.token,
    json,
    ...more,
  });

test("a lead with only a phone is created with the workspace's defaults and exactly the contract's fields", async () => {
  const { status, body } = await create({ phone: "9876543210" });
  assert.equal(status, 201);
  assert.deepEqual(Object.keys(body), [
    "id",
    "workspaceId",
    "name",
    "email",
    "phone",
    "assignedAgentId",
    "contactId",
    "statusId",
    "sourceId",
    "priorityId",
    "customFields",
    "createdBy",
    "createdAt",
    "updatedAt",
    "status",
    "source",
    "priority",
    "contact",
    "collaborators",
  ]);
  assert.equal(body.name, "Untitled");
});
