import { createInvitation } from "../accounts/invitations/create-invitation.ts";
import { NewInvitation } from "../accounts/invitations/invitation-schema.ts";
import { removePasskeysOf } from "../accounts/sessions/remove-passkeys.ts";
import { createSignInLink } from "../accounts/sessions/sign-in-links.ts";
import { removeTotpOf } from "../accounts/sessions/totp-enrollment.ts";
import { createUser } from "../accounts/users/create-user.ts";
import { NewUser } from "../accounts/users/user-schema.ts";
import { listUsers } from "../accounts/users/users.ts";
import type { Command } from "./command.ts";
import { everyPage } from "./every-page.ts";
import { readAs, readId } from "./read-words.ts";
import { textTable } from "./text-table.ts";

const columns = ["id", "name", "email", "extension", "role_id", "is_owner", "active"] as const;
const account = { value: "id", about: "The account", required: true } as const;

export const userCommands: readonly Command[] = [
  {
    name: "user create",
    summary: "Create a user",
    options: {
      account,
      name: { value: "name", about: "The user's name", required: true },
      email: { value: "email", about: "Unique in the account", required: true },
      phone: { value: "digits", about: "Ten digits" },
      extension: { value: "digits", about: "2 to 6 digits" },
      role: { value: "id", about: "Role of the user; default none, without permissions" },
      inactive: { about: "Create the user inactive" },
    },
    run: async (session, words) => {
      const role = words.option("role");
      const wanted = readAs(NewUser, {
        name: words.option("name"),
        email: words.option("email"),
        phone: words.option("phone"),
        extension: words.option("extension"),
        role_id: role === undefined ? undefined : readId("--role", role),
        active: !words.flag("inactive"),
      });
      const accountId = readId("--account", words.option("account")!);
      const user = await session.change(accountId, (tx, operator) =>
        createUser(tx, operator, wanted, session.now()),
      );
      return { json: user, text: textTable([user], columns) };
    },
  },
  {
    name: "user invite",
    summary: "Invite a person by email and print the link",
    options: {
      account,
      email: {
        value: "email",
        about: "The address that the user will sign in with",
        required: true,
      },
      role: { value: "id", about: "Role of the user; default none, without permissions" },
    },
    run: async (session, words) => {
      const role = words.option("role");
      const wanted = readAs(NewInvitation, {
        email: words.option("email"),
        role_id: role === undefined ? undefined : readId("--role", role),
      });
      const accountId = readId("--account", words.option("account")!);
      const { path, ...invitation } = await session.change(accountId, (tx, operator) =>
        createInvitation(tx, operator, wanted, session.now()),
      );
      const url = session.config().public_url + path;
      return {
        json: { ...invitation, url },
        text: `${url}\nIt works once, until ${invitation.expires_at}.`,
      };
    },
  },
  {
    name: "user link",
    summary: "Print a link that signs a user in to the console once",
    operands: ["user"],
    options: { account },
    run: async (session, words) => {
      const accountId = readId("--account", words.option("account")!);
      const link = await session.change(accountId, (tx, operator) =>
        createSignInLink(tx, operator, readId("user", words.operands[0]!), session.now()),
      );
      const url = session.config().public_url + link.path;
      return {
        json: { url, expires_at: link.expires_at },
        text: `${url}\nIt works once, until ${link.expires_at}.`,
      };
    },
  },
  {
    name: "user reset-totp",
    summary: "Remove the authenticator app of a user who lost it",
    operands: ["user"],
    options: { account },
    run: async (session, words) => {
      const accountId = readId("--account", words.option("account")!);
      const id = readId("user", words.operands[0]!);
      await session.change(accountId, (tx, operator) =>
        removeTotpOf(tx, operator, id, session.now()),
      );
      return { json: { id }, text: "The user signs in without a code now." };
    },
  },
  {
    name: "user reset-passkeys",
    summary: "Remove the passkeys of a user who lost a device; the user's sessions end",
    operands: ["user"],
    options: { account },
    run: async (session, words) => {
      const accountId = readId("--account", words.option("account")!);
      const id = readId("user", words.operands[0]!);
      await session.change(accountId, (tx, operator) =>
        removePasskeysOf(tx, operator, id, session.now()),
      );
      return { json: { id }, text: "The user has no passkey now." };
    },
  },
  {
    name: "user list",
    summary: "List an account's users",
    options: { account },
    run: async (session, words) => {
      const { id } = await session.account(readId("--account", words.option("account")!));
      const db = await session.database();
      const users = await everyPage((page) => listUsers(db.query, id, page));
      return { json: { data: users }, text: textTable(users, columns) };
    },
  },
];
