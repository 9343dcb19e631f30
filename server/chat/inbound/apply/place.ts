import type { App } from "../../../engine/app.ts";
import type { Tx } from "../../../lib/database/database.ts";
import type { InboxNumber } from "./inbox.ts";

/** Where a side effect is applied: the number, and the transaction that deletes its inbox row. */
export type Place = InboxNumber & {
  readonly app: App;
  readonly tx: Tx;
  readonly now: Date;
  /** Numbers whose senders must be notified. */
  readonly woken: number[];
};
