import type { Me } from "../../api/me.ts";

const keyOf = (user: Me["user"]) => `own-phone:${user.id}`;

/** Returns what the user calls from: what was used last in this tab, or what is assigned. */
export function ownPhone(user: Me["user"]): string {
  return sessionStorage.getItem(keyOf(user)) ?? user.agent_numbers[0] ?? "";
}

/** Keeps it for the next call. */
export function keepOwnPhone(user: Me["user"], phone: string): void {
  sessionStorage.setItem(keyOf(user), phone);
}
