import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assertProblem } from "../../../test/contract/lead-api.ts";
import { startApi, type RequestOptions, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  makeToken,
  makeUser,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { operatorOf } from "../roles/grantor.ts";
import { readToken } from "../tokens/token-text.ts";
import { createSignInLink } from "./sign-in-links.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
});
beforeEach(async () => {
  api.clock.set(new Date());
  account = await makeAccount(api.app);
});
after(() => api.close());

const password = "correct horse battery";
const hour_ms = 3_600_000;
const same_site = { "sec-fetch-site": "same-origin" };
const manager_permissions = ["users.manage", "crm.read"] as const;

type As = { readonly token: string } | { readonly cookie: string };
const asOptions = (as: As): RequestOptions =>
  "token" in as ? { token: as.token } : { headers: { ...same_site, cookie: as.cookie } };
const createLink = (user_id: number, as: As) =>
  api.send("POST", `/api/v1/users/${user_id}/sign-in-link`, asOptions(as));
const linkIn = (path: string) => path.split("#")[1]!;
const linkOf = async (user_id: number, as: As) => {
  const { status, body, text } = await createLink(user_id, as);
  assert.equal(status, 201, text);
  return linkIn(body.path);
};
const useLink = (link: string, more: object = {}) =>
  api.send("POST", "/api/v1/session/link", { json: { link, ...more }, headers: same_site });
const cookieOf = ({ headers }: { headers: Headers }) => headers.get("set-cookie")!.split(";")[0]!;
const patch = (path: string, json: object) =>
  api.send("PATCH", `/api/v1/${path}`, { token: account.token, json });
const roleOf = async (user_id: number) =>
  (await api.send("GET", `/api/v1/users/${user_id}`, { token: account.token })).body
    .role_id as number;

/** Creates a user who manages users and has signed in; `cookie` is that of the session. */
async function makeManager() {
  const id = await makeUser(api.app, account, manager_permissions);
  const link = await linkOf(id, { token: account.token });
  return { id, cookie: cookieOf(await useLink(link, { password })) };
}

/** Asserts that a link is refused exactly as an expired one is. */
async function assertUnusable(link: string, about: string) {
  const used = await useLink(link, { password });
  assertProblem(used, 401, "unauthorized");
  assert.match(used.body.detail, /was used already or has expired/, about);
  assert.equal(used.headers.get("set-cookie"), null, about);
}

test("a link ends when the token that made it is revoked, rotated or expires", async () => {
  const user_id = await makeUser(api.app, account, ["crm.read"]);
  const makeIntegration = async (expires_at: Date | null = null) => {
    const token = await makeToken(api.app, account, { expires_at });
    const link = await linkOf(user_id, { token });
    return {
      id: readToken(token)!.token_id,
      owners: await linkOf(account.owner_id, { token }),
      link,
    };
  };
  const change = (id: number, what: string, json: object = {}) =>
    api.send("POST", `/api/v1/tokens/${id}/${what}`, { token: account.token, json });
  const revoked = await makeIntegration();
  assert.equal((await change(revoked.id, "revoke")).status, 200);
  await assertUnusable(revoked.link, "a revoked token");
  await assertUnusable(revoked.owners, "the owner's link of a revoked token");
  const rotated = await makeIntegration();
  const overlapping = await makeIntegration();
  assert.equal((await change(rotated.id, "rotate")).status, 201);
  assert.equal((await change(overlapping.id, "rotate", { overlap_seconds: 60 })).status, 201);
  await assertUnusable(rotated.link, "a rotated token");
  assert.equal((await useLink(overlapping.link)).status, 200, "during the overlap");
  const expiring = await makeIntegration(new Date(api.clock.now().getTime() + hour_ms));
  const kept = await makeIntegration();
  api.clock.advance(hour_ms);
  await assertUnusable(overlapping.owners, "after the overlap");
  await assertUnusable(expiring.link, "an expired token");
  assert.equal((await useLink(kept.link)).status, 200, "a token in force");
});

test("a link ends when its creator is deactivated or no longer manages users", async () => {
  const manager = await makeManager();
  const role_id = await roleOf(manager.id);
  const user_id = await makeUser(api.app, account, ["crm.read"]);
  const link = await linkOf(user_id, manager);
  const other = await linkOf(user_id, manager);
  await patch(`roles/${role_id}`, { permissions: ["crm.read"] });
  await assertUnusable(link, "without users.manage");
  await patch(`roles/${role_id}`, { permissions: [...manager_permissions] });
  assert.equal((await useLink(link)).status, 200, "the creator manages users again");
  await patch(`users/${manager.id}`, { active: false });
  await assertUnusable(other, "deactivated");
  await patch(`users/${manager.id}`, { active: true });
  await assertUnusable(other, "the creator's session has ended");
});

test("a link ends when its user gets a permission that its creator, or the creator's token, does not have", async () => {
  const manager = await makeManager();
  const scoped = await makeToken(api.app, account, { scopes: [...manager_permissions] });
  const user_id = await makeUser(api.app, account, ["crm.read"]);
  const role_id = await roleOf(user_id);
  for (const as of [manager, { token: scoped }]) {
    const link = await linkOf(user_id, as);
    await patch(`roles/${role_id}`, { permissions: ["crm.read", "credits.read"] });
    await assertUnusable(link, "the user is stronger");
    await patch(`roles/${role_id}`, { permissions: ["crm.read"] });
    assert.equal((await useLink(link)).status, 200);
  }
});

test("a link outlasts its creator's signing out, but not the end of all other sessions or a new password", async () => {
  const manager = await makeManager();
  const user_id = await makeUser(api.app, account, ["crm.read"]);
  const signIn = async () => ({
    cookie: cookieOf(await useLink(await linkOf(manager.id, { token: account.token }))),
  });
  const end = (path: string, { cookie }: { readonly cookie: string }) =>
    api.send("DELETE", path, { headers: { ...same_site, cookie } });
  const signed_out = await linkOf(user_id, manager);
  assert.equal((await end("/api/v1/session", manager)).status, 200);
  assert.equal((await useLink(signed_out)).status, 200, "signed out");

  const [stolen, own] = [await signIn(), await signIn()];
  const [theirs, mine] = [await linkOf(user_id, stolen), await linkOf(user_id, own)];
  // Whoever stole the session also signs out in it.
  await end("/api/v1/session", stolen);
  assert.equal((await end("/api/v1/sessions?keep_this=true", own)).status, 200);
  await assertUnusable(theirs, "of another session");
  assert.equal((await useLink(mine)).status, 200, "of the session that was kept");

  const one = await signIn();
  const of_one = await linkOf(user_id, one);
  const { body } = await api.send("GET", "/api/v1/sessions", asOptions(one));
  await end(`/api/v1/sessions/${body.data[0].id}`, own);
  await assertUnusable(of_one, "of a session that was ended");

  const before_reset = await linkOf(user_id, own);
  const by_token = await makeToken(api.app, account, { kind: "agent", user_id: manager.id });
  const integration = await linkOf(user_id, { token: by_token });
  await useLink(await linkOf(manager.id, { token: account.token }), { password });
  await assertUnusable(before_reset, "the creator has a new password");
  assert.equal((await useLink(integration)).status, 200, "made with a token of the creator");
});

test("a user with a password or a passkey gets no link from the own session or token, but from others and the operator", async () => {
  const manager = await makeManager();
  const agent = await makeToken(api.app, account, { kind: "agent", user_id: manager.id });
  for (const as of [manager, { token: agent }]) {
    const refused = await createLink(manager.id, as);
    assertProblem(refused, 403, "forbidden");
    assert.match(refused.body.detail, /Change your own password in your profile/);
  }
  const now = api.clock.now();
  const operator = operatorOf(account.account_id, "req_test");
  const { path } = await api.app.db.query
    .transaction()
    .execute((tx) => createSignInLink(tx, operator, manager.id, now));
  assert.equal((await useLink(linkIn(path))).status, 200);
  assert.equal((await createLink(manager.id, { token: account.token })).status, 201);

  const fresh = await makeUser(api.app, account, manager_permissions);
  const token = await makeToken(api.app, account, { kind: "agent", user_id: fresh });
  assert.equal((await createLink(fresh, { token })).status, 201, "without a password");
  await api.app.db.query
    .insertInto("user_passkeys")
    .values({
      account_id: account.account_id,
      user_id: fresh,
      credential_id: unique("credential"),
      public_key: Buffer.from("key"),
      counter: 0,
      transports: [],
      name: "Phone",
      created_at: now,
    })
    .execute();
  assertProblem(await createLink(fresh, { token }), 403, "forbidden");
});

test("a link of an earlier version, whose creator is unknown, signs no one in, unless it was mailed", async () => {
  const user_id = await makeUser(api.app, account, ["crm.read"]);
  const [three_days, mailed] = [
    await linkOf(user_id, { token: account.token }),
    await linkOf(user_id, { token: account.token }),
  ];
  const id_of = (link: string) => Number(link.split("_")[1]);
  const { pool } = api.app.db;
  await pool.query(
    `update sign_in_links set origin = null, created_by = null, created_by_token = null
     where account_id = $1 and id = any ($2)`,
    [account.account_id, [id_of(three_days), id_of(mailed)]],
  );
  await pool.query(
    `update sign_in_links set expires_at = created_at + interval '1 hour'
     where account_id = $1 and id = $2`,
    [account.account_id, id_of(mailed)],
  );
  await assertUnusable(three_days, "unknown creator");
  assert.equal((await useLink(mailed)).status, 200);
});

test("a link of the operator works for three days, whatever the user may do", async () => {
  const operator = operatorOf(account.account_id, "req_test");
  const now = api.clock.now();
  const { path } = await api.app.db.query
    .transaction()
    .execute((tx) => createSignInLink(tx, operator, account.owner_id, now));
  api.clock.advance(71 * hour_ms);
  assert.equal((await useLink(linkIn(path))).status, 200);
});

test("the audit trail has who made the link that was used, and with which token", async () => {
  const user_id = await makeUser(api.app, account, ["crm.read"]);
  const token = await makeAgentToken(api.app, account, manager_permissions);
  const me = await api.send("GET", "/api/v1/me", { token });
  assert.equal((await useLink(await linkOf(user_id, { token }))).status, 200);
  const { body } = await api.send("GET", "/api/v1/audit?action=sign_in_link.used", {
    token: account.token,
  });
  assert.deepEqual(
    body.data.map((entry: Record<string, unknown>) => [
      entry["user_id"],
      entry["subject_id"],
      entry["detail"],
    ]),
    [
      [
        user_id,
        String(user_id),
        {
          origin: "user",
          created_by: me.body.user.id,
          created_by_token: readToken(token)!.token_id,
        },
      ],
    ],
  );
});
