import type { Role } from "../../api/users.ts";
import type { Option } from "../../ui/option.ts";

/** The roles to choose from. */
export function roleOptions(roles: readonly Role[]): readonly Option[] {
  return roles.map(({ id, name }) => ({ value: id, label: name }));
}

/** Reads the choice; without one, the user has no role. */
export const readRole = (value: string): number | null => (value === "" ? null : Number(value));
