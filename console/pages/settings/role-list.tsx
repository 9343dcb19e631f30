import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import type { Role } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { RoleDialog } from "./role-dialog.tsx";

/** The roles of the account, and how many permissions each has. */
export function RoleList({ roles }: { readonly roles: readonly Role[] }) {
  const may = useMay("users.manage");
  return (
    <Panel
      title="Roles"
      actions={may && <RoleDialog role={null} trigger={<Button>New role</Button>} />}
    >
      <ul aria-label="Roles" className="divide-line divide-y">
        {roles.map((role) => (
          <li
            key={role.id}
            className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 py-3 first:pt-0 last:pb-0"
          >
            <div className="min-w-0">
              <p className="font-medium wrap-anywhere">{role.name}</p>
              <p className="text-muted text-xs">{countOf(role.permissions.length)}</p>
            </div>
            {may && (
              <div className="flex gap-2">
                <RoleDialog
                  role={role}
                  trigger={<Button aria-label={`Edit ${role.name}`}>Edit</Button>}
                />
                <ConfirmDialog
                  title={`Delete the role ${role.name}?`}
                  text="Only a role that no user and no open invitation has can be deleted."
                  action="Delete"
                  trigger={<Button aria-label={`Delete ${role.name}`}>Delete</Button>}
                  act={async () => {
                    await api.DELETE("/api/v1/roles/{id}", { params: { path: { id: role.id } } });
                    await queryClient.invalidateQueries({ queryKey: ["roles"] });
                  }}
                />
              </div>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

const countOf = (count: number) =>
  count === 0 ? "No permissions" : count === 1 ? "1 permission" : `${count} permissions`;
