import assert from "node:assert/strict";

import { after, before, test } from "node:test";
import { makeAccount, type TestAccount } from "../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { fieldErrors } from "./field-errors.ts";

let api: TestApi;
let account: TestAccount;
before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

function createLead(raw: string) {
  const path = `/api/v1/crm/workspaces/${account.workspace_id}/leads/create`;
  return api.send("POST", path, {
    token: account.token,
    raw,
    headers: { "content-type": "application/json" },
  });
}

test("suggests names only for the reported fields, however many fields are unknown", () => {
  let looks = 0;
  const parentSchema = {
    get properties() {
      looks++;
      return { phone: {}, name: {} };
    },
  };
  const findings = Array.from({ length: 90_000 }, (_, i) => ({
    keyword: "additionalProperties",
    instancePath: "",
    params: { additionalProperty: `phone${i}` },
    parentSchema,
  }));
  const errors = fieldErrors(findings);
  assert.equal(errors.length, 90_000);
  assert.equal(errors[0]?.reason, "unknown field; did you mean phone?");
  assert.equal(looks, 100);
});

test("an answer names at most a hundred invalid fields and reports that there are more", async () => {
  const fields = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 1]));
  const answer = await createLead(JSON.stringify(fields));
  assert.equal(answer.status, 422);
  assert.equal(answer.body.errors.length, 100);
  assert.equal(answer.body.detail, "More than 100 fields are not valid; the first 100 are listed");
});

test("shortens long keys in an answer", async () => {
  const key = "k".repeat(900_000);
  for (const value of ['"\\u0000"', "99999999999999999999"]) {
    const values = Array.from({ length: 200 }, () => value).join(",");
    const answer = await createLead(`{"phone":"9876543210","customFields":{"${key}":[${values}]}}`);
    assert.equal(answer.status, 422);
    assert.equal(answer.body.errors.length, 100);
    assert.ok(answer.text.length < 65_536, `${answer.text.length} characters`);
    assert.equal(answer.body.errors[0].field.length, 201);
  }
});

test("reports that digits sent as a number must be a string", () => {
  const parentSchema = { type: ["string", "null"], "x-reason": "must be exactly 10 digits" };
  const reasonOf = (keyword: string, params: Record<string, unknown>) =>
    fieldErrors([{ keyword, instancePath: "/phone", params, parentSchema }])[0]?.reason;
  assert.equal(
    reasonOf("type", { type: ["string", "null"] }),
    "must be exactly 10 digits, as a string",
  );
  assert.equal(reasonOf("pattern", { pattern: "^[0-9]{10}$" }), "must be exactly 10 digits");
});
