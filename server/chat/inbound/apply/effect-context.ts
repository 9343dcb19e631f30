import type { App } from "../../../engine/app.ts";
import type { Tx } from "../../../lib/database/database.ts";
import type { InboxNumber } from "./inbox.ts";

/** The context of a side effect: the number, and the transaction that deletes its inbox row. */
export type EffectContext = InboxNumber & {
  readonly app: App;
  readonly tx: Tx;
  readonly now: Date;
  /** Numbers whose senders must be notified. */
  readonly woken: number[];
};
