import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { extensionsQuery, type Extension } from "../../api/agents.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { rolesQuery, usersQuery, type Role, type User } from "../../api/users.ts";
import { useMay } from "../../ui/permission.ts";
import { Badge } from "../../ui/badge.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { InviteDialog } from "./invite-dialog.tsx";
import { OpenInvitations } from "./open-invitations.tsx";
import { PermissionTable } from "./permission-table.tsx";
import { RoleList } from "./role-list.tsx";
import { UserDialog } from "./user-dialog.tsx";

const shell = getRouteApi("/shell");

/** The people of the account, what they may do, and who was invited. */
export function UsersPage() {
  const may_manage = useMay("users.manage");
  const { me } = shell.useRouteContext();
  const users = useInfiniteQuery(usersQuery);
  const { data: roles = [], error } = useQuery(rolesQuery);
  const { data: phones = [] } = useQuery({ ...extensionsQuery, enabled: useMay("agents.read") });
  const table = pagedRows(users);
  return (
    <Page
      title="Users"
      text="The people who can sign in to this account, and their roles."
      actions={may_manage && <InviteDialog roles={roles} />}
    >
      <FormError error={users.error ?? error} />
      <OpenInvitations roles={roles} />
      <DataTable
        label="Users"
        columns={columnsOf({ roles, phones, may_manage, own_id: me.user.id })}
        {...table}
        keyOf={({ id }) => id}
      />
      <RoleList roles={roles} />
      <PermissionTable roles={roles} />
    </Page>
  );
}

function columnsOf({
  roles,
  phones,
  may_manage,
  own_id,
}: {
  readonly roles: readonly Role[];
  readonly phones: readonly Extension[];
  readonly may_manage: boolean;
  readonly own_id: number;
}): readonly Column<User>[] {
  const names = new Map(roles.map(({ id, name }) => [id, name]));
  return [
    {
      header: "Name",
      cell: (user) => (
        <>
          {may_manage ? <UserDialog user={user} roles={roles} /> : user.name}
          {user.id === own_id && <span className="text-muted font-normal"> (you)</span>}
          <span className="text-muted block text-xs font-normal wrap-anywhere">{user.email}</span>
        </>
      ),
    },
    {
      header: "Role",
      cell: ({ is_owner, role_id }) =>
        is_owner ? "Owner" : role_id === null ? "No role" : (names.get(role_id) ?? "…"),
    },
    {
      header: "State",
      cell: ({ active }) => (
        <Badge tone={active ? "good" : "neutral"}>{active ? "Active" : "Inactive"}</Badge>
      ),
    },
    { header: "Extension", wide: true, cell: (user) => extensionsOf(user, phones) || "–" },
  ];
}

/** The user's phones of the account, and the extension that programs gave. */
function extensionsOf({ id, extension }: User, phones: readonly Extension[]): string {
  const own = phones.filter(({ user_id }) => user_id === id).map((phone) => phone.extension);
  return [...new Set(extension === null ? own : [...own, extension])].join(", ");
}
