import type { App } from "../../engine/app.ts";

/** Tells the senders of these numbers to look again; to be called after the commit. */
export function wakeSenders(app: App, accountId: number, numberIds: readonly number[]): void {
  for (const id of numberIds) app.notifications.send("chat_work", `${accountId}:${id}`);
}
