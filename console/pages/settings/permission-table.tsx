import { useQuery } from "@tanstack/react-query";
import { Check } from "lucide-react";
import { permissionsQuery, type Role } from "../../api/users.ts";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";

/** What each role may do: a row for each permission, a column for each role. */
export function PermissionTable({ roles }: { readonly roles: readonly Role[] }) {
  const { data: permissions = [], error } = useQuery(permissionsQuery);
  if (roles.length === 0) return null;
  return (
    <Panel title="Who may do what">
      <FormError error={error} />
      <p className="text-muted">An owner may do everything.</p>
      {/* Many roles are wider than the page; who uses a keyboard scrolls here too. */}
      <div className="overflow-x-auto" role="region" aria-label="Permissions by role" tabIndex={0}>
        <table aria-label="Permissions by role" className="text-left">
          <thead>
            <tr className="border-line border-b">
              <th scope="col" className="py-2 pr-4 font-medium">
                Permission
              </th>
              {roles.map(({ id, name }) => (
                <th key={id} scope="col" className="min-w-24 px-3 py-2 font-medium wrap-anywhere">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-line divide-y">
            {permissions.map(({ name, description }) => (
              <tr key={name}>
                <th scope="row" className="min-w-48 py-2 pr-4 font-normal">
                  {description}
                </th>
                {roles.map((role) => (
                  <td key={role.id} className="px-3 py-2">
                    {role.permissions.includes(name) ? (
                      <Check aria-label="Yes" className="text-good size-4" />
                    ) : (
                      <span className="text-muted">–</span>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
