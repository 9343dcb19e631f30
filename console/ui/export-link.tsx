import type { Permission } from "../../server/accounts/permissions.ts";
import { buttonClass } from "./button.tsx";
import { useMay } from "./permission.ts";

/** Downloads a list as CSV, with its filters; nothing without one of the permissions. */
export function ExportLink({
  path,
  filter = {},
  permission,
}: {
  readonly path: string;
  readonly filter?: object;
  readonly permission: Permission | readonly [Permission, ...Permission[]];
}) {
  const anyOf = typeof permission === "string" ? ([permission] as const) : permission;
  if (!useMay(...anyOf)) return null;
  const given = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const query = new URLSearchParams(given);
  return (
    <a href={`${path}?${query}`} download className={buttonClass()}>
      Export
    </a>
  );
}
