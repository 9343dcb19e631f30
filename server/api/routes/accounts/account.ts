import { AccountResponse, AccountPatch } from "../../../accounts/accounts/account-schema.ts";
import { findAccount } from "../../../accounts/accounts/accounts.ts";
import { validateAccount } from "../../../accounts/accounts/validate-account.ts";
import { accountTokensSubject } from "../../../accounts/tokens/token-directory.ts";
import { updateAccount } from "../../../accounts/accounts/update-account.ts";
import { validateCallNotice } from "../../../chat/single-messages/validate-call-notice.ts";
import { validateCallFiles } from "../../../voice/files/validate-call-files.ts";
import { route } from "../../route.ts";

export const accountRoutes = [
  route({
    method: "GET",
    url: "/api/v1/account",
    id: "readAccount",
    summary: "Read the account and its settings",
    tag: "Account",
    access: { anyOf: ["account.read", "account.manage"] },
    success: { 200: AccountResponse },
    handle: ({ app, caller }) => findAccount(app.db.query, caller.account.id),
  }),
  route({
    method: "PATCH",
    url: "/api/v1/account",
    id: "updateAccount",
    summary: "Change the account's settings",
    tag: "Account",
    access: { anyOf: ["account.manage"] },
    body: AccountPatch,
    success: { 200: AccountResponse },
    validate: async ({ app, caller, body }) => [
      ...validateAccount(body),
      ...(await validateCallNotice(app.db.query, caller.account.id, body)),
      ...(await validateCallFiles(app.db.query, caller.account.id, body)),
    ],
    handle: async ({ app, caller, actor, body, write }) => {
      const account = await write((tx) => updateAccount(tx, actor, body, app.clock.now()));
      app.notifications.send("token", accountTokensSubject(caller.account.id));
      return account;
    },
  }),
];
