import type { App } from "../../engine/app.ts";

/** Notifies the senders of these numbers of new work; call it after the commit. */
export function wakeSenders(app: App, accountId: number, numberIds: readonly number[]): void {
  for (const id of numberIds) app.notifications.send("chat_work", `${accountId}:${id}`);
}
