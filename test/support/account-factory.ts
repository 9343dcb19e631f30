// Creates accounts, users, tokens and credit for tests, with the functions of the service.
import { createAccount } from "../../server/accounts/accounts/create-account.ts";
import { operatorOf } from "../../server/accounts/roles/grantor.ts";
import { createToken, type NewToken } from "../../server/accounts/tokens/create-token.ts";
import {
  features as allFeatures,
  type Feature,
  type Permission,
} from "../../server/accounts/permissions.ts";
import { grantCredits } from "../../server/credits/grant-credits.ts";
import { insertWorkspace } from "../../server/crm/workspaces/insert-workspace.ts";
import type { App } from "../../server/engine/app.ts";

export type TestAccount = {
  readonly account_id: number;
  readonly owner_id: number;
  /** An account token. */
  readonly token: string;
  readonly workspace_id: number;
};

let made = 0;

/** Returns a name that no other call in this process has returned. */
export function unique(prefix: string): string {
  return `${prefix}-${++made}`;
}

/** Creates an account with an owner, a token and a workspace. */
export async function makeAccount(
  app: Pick<App, "db" | "clock">,
  options: { features?: readonly Feature[] } = {},
): Promise<TestAccount> {
  const now = app.clock.now();
  return app.db.query.transaction().execute(async (tx) => {
    const name = unique("account");
    const owned = await createAccount(
      tx,
      {
        name,
        features: options.features ?? allFeatures,
        owner: { name, email: `${name}@test.example` },
      },
      now,
    );
    const { token } = await createToken(tx, accountToken(owned), now);
    const workspace_id = await insertWorkspace(tx, owned.account_id, { name: "Sales" }, now);
    return { ...owned, token, workspace_id };
  });
}

/** Creates a user with a role of these permissions (null: no role); returns the user's id. */
export async function makeUser(
  app: App,
  account: Pick<TestAccount, "account_id">,
  permissions: readonly Permission[] | null = null,
): Promise<number> {
  const now = app.clock.now();
  const stamps = { account_id: account.account_id, created_at: now, updated_at: now };
  const name = unique("user");
  const role =
    permissions &&
    (await app.db.query
      .insertInto("roles")
      .values({ ...stamps, name, permissions: [...permissions] })
      .returning("id")
      .executeTakeFirstOrThrow());
  const user = await app.db.query
    .insertInto("users")
    .values({ ...stamps, name, email: `${name}@test.example`, role_id: role?.id ?? null })
    .returning("id")
    .executeTakeFirstOrThrow();
  return user.id;
}

/** Creates a token of a new user with these permissions. */
export async function makeAgentToken(
  app: App,
  account: Pick<TestAccount, "account_id" | "owner_id">,
  permissions: readonly Permission[] | null,
): Promise<string> {
  const user_id = await makeUser(app, account, permissions);
  return makeToken(app, account, { kind: "agent", user_id });
}

/** Creates a token of the account: an account token by default. */
export async function makeToken(
  app: App,
  account: Pick<TestAccount, "account_id" | "owner_id">,
  more: Partial<NewToken> = {},
): Promise<string> {
  const now = app.clock.now();
  const { token } = await app.db.query
    .transaction()
    .execute((tx) => createToken(tx, { ...accountToken(account), ...more }, now));
  return token;
}

/** Grants the account credit, as an operator does. */
export async function makeCredits(
  app: Pick<App, "db" | "clock">,
  account: Pick<TestAccount, "account_id">,
  credits: { chat?: number; call?: number },
): Promise<void> {
  const { actor } = operatorOf(account.account_id, "req_test");
  const now = app.clock.now();
  await app.db.query.transaction().execute(async (tx) => {
    for (const kind of ["chat", "call"] as const) {
      const amount = credits[kind] ?? 0;
      if (amount > 0) await grantCredits(tx, actor, { kind, amount }, now);
    }
  });
}

function accountToken(owned: Pick<TestAccount, "account_id" | "owner_id">): NewToken {
  return {
    account_id: owned.account_id,
    kind: "account",
    user_id: owned.owner_id,
    name: "test",
    scopes: null,
    expires_at: null,
    created_by: owned.owner_id,
  };
}
