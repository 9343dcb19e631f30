import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { operatorOf } from "../../accounts/roles/grantor.ts";
import { deleteCustomField, lookForUseOfField } from "./delete-custom-field.ts";
import { deletePicklistOption, lookForUseOfOption } from "./delete-picklist-option.ts";

let api: TestApi;
let account: TestAccount;
let base: string;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  base = `/api/v1/crm/workspaces/${account.workspace_id}`;
});
after(() => api.close());

const send = async (method: string, path: string, json: object) => {
  const { status, body } = await api.send(method, base + path, { token: account.token, json });
  assert.ok(status < 300, JSON.stringify(body));
  return body;
};
const addSource = () => send("POST", "/picklists/source/options", { label: unique("source") });
const addField = () =>
  send("POST", "/custom-fields", {
    key: unique("f").replace("-", "_"),
    label: "Field",
    type: "text",
  });
const createLead = (more: object = {}) =>
  send("POST", "/leads/create", { phone: "9876543210", ...more });

test("an option or field that a lead gets after the leads were looked through is not deleted", async () => {
  const { account_id, workspace_id } = account;
  const { actor } = operatorOf(account_id, "req_test");
  const { db } = api.app;
  const lead = await createLead();
  for (const write of [
    (use: object) => createLead(use),
    (use: object) => send("PATCH", `/leads/${lead.id}`, use),
  ]) {
    const [source, field] = [await addSource(), await addField()];
    const option = { workspaceId: workspace_id, picklist: "source", optionId: source.id } as const;
    const place = { workspaceId: workspace_id, fieldId: field.id };
    const looked = {
      option: await lookForUseOfOption(db, account_id, option),
      field: await lookForUseOfField(db, account_id, place),
    };
    await write({ sourceId: source.id, customFields: { [field.key]: "x" } });
    const now = api.clock.now();
    await assert.rejects(
      db.query
        .transaction()
        .execute((tx) => deletePicklistOption(tx, actor, option, now, looked.option)),
      { type: "conflict" },
    );
    await assert.rejects(
      db.query
        .transaction()
        .execute((tx) => deleteCustomField(tx, actor, place, now, looked.field)),
      { type: "conflict" },
    );
  }
});

test("among more leads than are read at once, the last one's option and field are found", async () => {
  const { account_id } = account;
  const [source, field] = [await addSource(), await addField()];
  const first = await createLead();
  await api.app.db.pool.query(
    `insert into leads (account_id, workspace_id, contact_id, name, phone, phone_e164, status_id, priority_id,
       custom_fields, created_by, created_at, updated_at)
     select account_id, workspace_id, contact_id, name, phone, phone_e164, status_id, priority_id,
       custom_fields, created_by, created_at, updated_at
     from leads, generate_series(1, 20000) where account_id = $1 and id = $2`,
    [account_id, first.id],
  );
  const remove = async (path: string) =>
    (await api.send("DELETE", base + path, { token: account.token })).status;
  const [unused, unusedField] = [await addSource(), await addField()];
  await createLead({ sourceId: source.id, customFields: { [field.key]: "x" } });
  assert.equal(await remove(`/picklists/source/options/${source.id}`), 409);
  assert.equal(await remove(`/custom-fields/${field.id}`), 409);
  assert.equal(await remove(`/picklists/source/options/${unused.id}`), 204);
  assert.equal(await remove(`/custom-fields/${unusedField.id}`), 204);
});
