// Failures that delivery statuses report: how they are decided, by the table that also decides failed
// responses (messages/error-actions.ts), and what they concern beyond the recipient.
import type { App } from "../../../engine/app.ts";
import { statement } from "../../../lib/database/database.ts";
import { decideReportedAction } from "../../messages/error-actions.ts";
import type { RecipientState } from "../../recipients/recipient-states.ts";
import {
  applyFailureEffect,
  distinctEffects,
  failureEffects,
  type FailureEffect,
} from "../failure-effects.ts";
import {
  recipientKey,
  type Dispatch,
  type ReportedFailure,
  type Status,
} from "./furthest-moves.ts";

/** A recipient whose message a status reports as failed, before the status is applied. */
type FailedRecipient = Dispatch & {
  readonly state: RecipientState;
  /** Or the user ID; empty after an erasure, which does not wait for delivery statuses. */
  readonly phone: string;
  readonly template_id: number | null;
  readonly chat_number_id: number;
  /** The error that put the recipient off last, and how often in a row. */
  readonly error: string | null;
  readonly attempts: number;
};

/** Decides the failures of a batch, and collects their effects. */
export type FailureDecisions = {
  failureOf(status: Status, wasSent: boolean): ReportedFailure;
  readonly effects: readonly FailureEffect[];
};

/** Reads the recipients of failed statuses and returns how to decide them. */
export async function openFailureDecisions(
  app: App,
  accountId: number,
  failed: readonly Dispatch[],
): Promise<FailureDecisions> {
  const recipients = await findFailed(app, accountId, failed);
  const effects: FailureEffect[] = [];
  return {
    effects,
    failureOf({ dispatch, event }, wasSent) {
      const { code } = event;
      const recipient = recipients.get(recipientKey(dispatch));
      const isCurrent =
        recipient?.dispatches === dispatch.dispatches && in_flight.has(recipient.state);
      const before = recipient ?? { error: null, attempts: 0 };
      const action = decideReportedAction(code, before, app.random());
      const now = app.clock.now();
      // A late or repeated status must not set a hold again that a person has lifted.
      if (recipient && isCurrent)
        // An opt-out is a side effect of its own, with the time of its status.
        effects.push(
          ...failureEffects({ ...recipient, code, at: event.at }, action, now).filter(
            ({ kind }) => kind !== "suppress",
          ),
        );
      const { error, recipient_side = false } = action;
      const isErased = recipient?.phone === "";
      if (action.state !== "deferred" || wasSent || isErased)
        return { state: "undelivered", error, recipient_side };
      const due_at = new Date(now.getTime() + action.after_ms);
      return { state: "deferred", error, recipient_side, due_at };
    },
  };
}

/** Applies the effects of a batch. Call it before its moves, so that a hold precedes every retry. */
export async function applyFailureEffects(
  app: App,
  accountId: number,
  effects: readonly FailureEffect[],
): Promise<void> {
  for (const effect of distinctEffects(effects))
    await app.db.query
      .transaction()
      .execute((tx) => applyFailureEffect(tx, accountId, effect, app.clock.now()));
}

/** The states that a failed status can change. */
const in_flight: ReadonlySet<RecipientState> = new Set([
  "dispatching",
  "unknown",
  "unresolved",
  "accepted",
  "sent",
]);

async function findFailed(app: App, accountId: number, failed: readonly Dispatch[]) {
  if (failed.length === 0) return new Map<string, FailedRecipient>();
  const campaigns = failed.map(({ campaign_id }) => campaign_id);
  const ids = failed.map(({ recipient_id }) => recipient_id);
  const rows = await failed_statement(app.db.pool, [accountId, campaigns, ids]);
  return new Map(rows.map((row) => [recipientKey(row), row]));
}

// A lateral look-up, because a plan without statistics would read all of the account's recipients.
const failed_statement = statement<FailedRecipient>(`
  select f.campaign_id, f.recipient_id, r.state, r.dispatches, coalesce(r.phone, r.bsuid) as phone, r.attempts,
    coalesce(r.retry_error, r.error) as error, c.template_id, c.chat_number_id
  from (select distinct * from unnest($2::bigint[], $3::bigint[]) u (campaign_id, recipient_id)) f
  cross join lateral (
    select * from chat_recipients r
    where r.account_id = $1 and r.campaign_id = f.campaign_id and r.id = f.recipient_id
    limit 1) r
  join chat_campaigns c on c.account_id = $1 and c.id = f.campaign_id`);
