// Contract 5: authentication and permissions, tested on lead creation where they concern every endpoint.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { permissionNames } from "../../server/accounts/permissions.ts";
import { makeAccount, makeAgentToken, makeToken, makeUser } from "../support/account-factory.ts";
import { assertProblem, leadPath, startLeadApi, type LeadApi } from "./lead-api.ts";

let lead: LeadApi;

before(async () => {
  lead = await startLeadApi();
});
after(() => lead.api.close());

const json = { phone: "9876543210" };
const withHeader = (authorization: string) =>
  lead.create(json, { token: undefined, headers: { authorization } });

test("a request with a valid token of the account succeeds", async () => {
  assert.equal((await lead.create(json)).status, 201);
});

test("a missing, malformed, invalid or expired token is 401 with WWW-Authenticate", async () => {
  const { token } = lead.account;
  const expired = await makeToken(lead.api.app, lead.account, {
    expires_at: new Date(Date.now() - 1_000),
  });
  const wrongSecret = token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
  const answers = [
    await lead.create(json, { token: undefined }),
    ...(await Promise.all(
      [
        "",
        "Bearer",
        "Bearer ",
        token,
        `Basic ${token}`,
        `Bearer ${token} extra`,
        `Bearer,${token}`,
        `Bearer "${token}"`,
        "Bearer nonsense",
        "Bearer trk_1_1_00",
        `Bearer ${token}0`,
        `Bearer ${wrongSecret}`,
        `Bearer ${token.replace(/^trk_\d+/, "trk_999999")}`,
        `Bearer ${token.replace(/^(trk_\d+)_\d+/, "$1_999999")}`,
        `Bearer trk_9999999999999999_9999999999999999_${"0".repeat(64)}`,
        `Bearer ${expired}`,
      ].map(withHeader),
    )),
  ];
  for (const answer of answers) {
    assertProblem(answer, 401, "unauthorized");
    assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer realm=/);
  }
});

test("a token is valid until the moment it expires", async () => {
  const expires_at = new Date(Date.now() + 60_000);
  const token = await makeToken(lead.api.app, lead.account, { expires_at });
  assert.equal((await lead.create(json, { token })).status, 201);
  lead.api.clock.set(expires_at);
  assertProblem(await lead.create(json, { token }), 401, "unauthorized");
  lead.api.clock.set(new Date());
});

test("the scheme Bearer is accepted in any letter case and with several spaces after it", async () => {
  const { token } = lead.account;
  for (const scheme of ["bearer", "BEARER", "bEaReR", "Bearer "]) {
    assert.equal((await withHeader(`${scheme} ${token}`)).status, 201, scheme);
  }
});

test("a valid token of an account without the feature is 403", async () => {
  const other = await makeAccount(lead.api.app, { features: ["bulk_chat", "voice", "calls"] });
  const answer = await lead.api.send("POST", leadPath(other.workspace_id), {
    token: other.token,
    json,
  });
  assertProblem(answer, 403, "forbidden");
});

test("a valid token without the permission to create leads is 403, and one with only that permission is 201", async () => {
  const { app } = lead.api;
  const others = permissionNames.filter((permission) => permission !== "crm.leads.create");
  for (const permissions of [null, [], others]) {
    const token = await makeAgentToken(app, lead.account, permissions);
    assertProblem(await lead.create(json, { token }), 403, "forbidden");
  }
  const token = await makeAgentToken(app, lead.account, ["crm.leads.create"]);
  assert.equal((await lead.create(json, { token })).status, 201);
});

test("a token's scopes narrow its user's permissions and never extend them", async () => {
  const { app } = lead.api;
  const narrowed = await makeToken(app, lead.account, { scopes: ["crm.read"] });
  assertProblem(await lead.create(json, { token: narrowed }), 403, "forbidden");
  const enough = await makeToken(app, lead.account, { scopes: ["crm.leads.create"] });
  assert.equal((await lead.create(json, { token: enough })).status, 201);
  const user_id = await makeUser(app, lead.account, ["crm.read"]);
  const widened = await makeToken(app, lead.account, {
    kind: "agent",
    user_id,
    scopes: ["crm.leads.create"],
  });
  assertProblem(await lead.create(json, { token: widened }), 403, "forbidden");
});

test("an inactive user's token is 401", async () => {
  const { app } = lead.api;
  const user_id = await makeUser(app, lead.account, ["crm.leads.create"]);
  const token = await makeToken(app, lead.account, { kind: "agent", user_id });
  await app.db.query
    .updateTable("users")
    .set({ active: false })
    .where("account_id", "=", lead.account.account_id)
    .where("id", "=", user_id)
    .execute();
  assertProblem(await lead.create(json, { token }), 401, "unauthorized");
});
