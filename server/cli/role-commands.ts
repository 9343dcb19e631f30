import { createRole } from "../accounts/roles/create-role.ts";
import { permissionNames } from "../accounts/permissions.ts";
import { NewRole } from "../accounts/roles/role-schema.ts";
import { listRoles } from "../accounts/roles/roles.ts";
import type { Command } from "./command.ts";
import { everyPage } from "./every-page.ts";
import { readAs, readId, readList } from "./read-words.ts";
import { textTable } from "./text-table.ts";

const columns = ["id", "name", "permissions"] as const;
const account = { value: "id", about: "The account", required: true } as const;

export const roleCommands: readonly Command[] = [
  {
    name: "role create",
    summary: "Create a role",
    options: {
      account,
      name: { value: "name", about: "Unique in the account", required: true },
      permissions: {
        value: "list",
        about: `"all", "" for none, or a list of ${permissionNames.join(",")}`,
        required: true,
      },
    },
    run: async (session, words) => {
      const permissions = words.option("permissions")!;
      const wanted = readAs(NewRole, {
        name: words.option("name"),
        permissions: permissions === "all" ? permissionNames : readList(permissions),
      });
      const accountId = readId("--account", words.option("account")!);
      const role = await session.change(accountId, (tx, operator) =>
        createRole(tx, operator, wanted, session.now()),
      );
      return { json: role, text: textTable([role], columns) };
    },
  },
  {
    name: "role list",
    summary: "List an account's roles",
    options: { account },
    run: async (session, words) => {
      const { id } = await session.account(readId("--account", words.option("account")!));
      const db = await session.database();
      const roles = await everyPage((page) => listRoles(db.query, id, page));
      return { json: { data: roles }, text: textTable(roles, columns) };
    },
  },
];
