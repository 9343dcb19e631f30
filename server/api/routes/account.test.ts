import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  makeToken,
  type TestAccount,
} from "../../../test/support/makers.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

const patch = (json: unknown, token = account.token) =>
  api.send("PATCH", "/api/v1/account", { token, json });

test("an account reads itself and nothing else", async () => {
  const other = await makeAccount(api.app, { features: ["crm"] });
  const { status, body } = await api.send("GET", "/api/v1/account", { token: other.token });
  assert.equal(status, 200);
  assert.deepEqual(body, {
    id: other.account_id,
    name: body.name,
    features: ["crm"],
    country_code: "91",
    time_zone: "UTC",
  });
});

test("changed settings hold for the very next request and are audited without their values", async () => {
  const own = await makeAccount(api.app);
  const settings = { name: "Renamed", country_code: "44", time_zone: "Asia/Kolkata" };
  const { status, body } = await patch(settings, own.token);
  assert.equal(status, 200);
  assert.deepEqual({ ...body, ...settings }, body);
  const workspace = `/api/v1/crm/workspaces/${own.workspace_id}`;
  await api.send("POST", `${workspace}/leads/create`, {
    token: own.token,
    json: { phone: "9876543210" },
  });
  const lead = await api.app.db.query
    .selectFrom("leads")
    .select("phone_e164")
    .where("account_id", "=", own.account_id)
    .executeTakeFirstOrThrow();
  assert.equal(lead.phone_e164, "+449876543210");
  const audit = await api.send("GET", "/api/v1/audit?action=account.updated", { token: own.token });
  assert.equal(audit.body.data.length, 1);
  assert.deepEqual(audit.body.data[0].detail, { changed: ["name", "country_code", "time_zone"] });
});

test("every failing setting is told at once, each with its reason", async () => {
  const { status, body } = await patch({
    name: " ",
    country_code: "091",
    time_zone: "Asia/Nowhere",
    features: ["voice"],
  });
  assert.equal(status, 422);
  assert.deepEqual(
    body.errors.toSorted((a: { field: string }, b: { field: string }) =>
      a.field < b.field ? -1 : 1,
    ),
    [
      { field: "country_code", reason: "must be 1 to 3 digits and not begin with 0" },
      { field: "features", reason: "unknown field" },
      { field: "name", reason: "must have 1 to 255 characters and not be blank" },
      { field: "time_zone", reason: "must be an IANA time zone such as Asia/Kolkata" },
    ],
  );
});

test("a change that names no field, or clears one that must be there, is refused", async () => {
  assert.equal((await patch({})).status, 422);
  for (const field of ["name", "country_code", "time_zone"]) {
    const { status, body } = await patch({ [field]: null });
    assert.equal(status, 422);
    assert.equal(body.errors[0].field, field);
  }
});

test("settings are read with account.read and changed only with account.manage", async () => {
  const reader = await makeAgentToken(api.app, account, ["account.read"]);
  assert.equal((await api.send("GET", "/api/v1/account", { token: reader })).status, 200);
  assert.equal((await patch({ name: "Mine" }, reader)).status, 403);
  const scoped = await makeToken(api.app, account, { scopes: ["audit.read"] });
  assert.equal((await api.send("GET", "/api/v1/account", { token: scoped })).status, 403);
  assert.equal((await api.send("GET", "/api/v1/account")).status, 401);
});
