// Decides how to apply a batch of webhooks, before anything is changed.
import type { WebhookEvent } from "../../../drivers/chat/driver.ts";
import { isNoticeOrTest, readMessageId } from "../../messages/message-id.ts";
import { answerStatus, furthestAnswers, type AnswerStatus } from "./answer-statuses.ts";
import {
  furthestMoves,
  type Dispatch,
  type StatusMove,
  type Status,
  type DeliveryStatus,
  type ReportedFailure,
} from "./furthest-moves.ts";
import type { ConsentChange } from "../internal/stop-words.ts";
import type { StoredWebhooks } from "./inbox.ts";
import type { StorableEvent } from "./read-webhooks.ts";

/** The provider's error code for a customer who has opted out. */
const opted_out_code = 131050;
/** How long a status may arrive before the sender has recorded its message. */
const unknown_kept_ms = 600_000;
const retry_first_ms = 1_000;

export type ReplyEvent = Extract<WebhookEvent, { kind: "reply" }>;
type Link = Extract<WebhookEvent, { kind: "link" }> & {
  /** The recipients of the webhook's statuses, if it has nothing else. */
  readonly recipients: readonly Dispatch[];
};

/** A row with the events of each of its webhooks. */
export type ReadWebhooks = {
  readonly row: StoredWebhooks;
  readonly events: readonly (readonly StorableEvent[])[];
};

/** An event that is applied in its own transaction. */
export type SideEffect =
  | { readonly kind: "opt_out" | "opt_in"; readonly reply: ReplyEvent }
  | { readonly kind: "refused_by_customer"; readonly dispatch: Dispatch; readonly at: Date }
  /** A webhook with unread content is kept whole. */
  | {
      readonly kind: "unread";
      readonly reason: string;
      readonly row: StoredWebhooks;
      readonly body: unknown;
    }
  | Extract<StorableEvent, { kind: "preference" | "moved" | "template" | "number" | "account" }>;

/** Webhooks of a row with statuses of unknown messages, stored as a row of their own when theirs is deleted. */
export type LaterWebhooks = {
  readonly driver: string;
  readonly body: readonly unknown[];
  readonly received_at: Date;
  readonly due_at: Date;
};

export type SortedWebhooks = {
  /** The phones of BSUIDs, which are recorded first. */
  readonly links: readonly Link[];
  readonly moves: readonly StatusMove[];
  /** The furthest status of each answer to a reply. */
  readonly answers: readonly AnswerStatus[];
  /** Replies that are only stored. */
  readonly replies: readonly ReplyEvent[];
  /** Rows that are complete once moves and replies are applied. */
  readonly done: readonly number[];
  /** Of those rows. */
  readonly later: readonly LaterWebhooks[];
  /** By row, which is deleted with them. */
  readonly side_effects: readonly {
    readonly id: number;
    readonly side_effects: readonly SideEffect[];
    readonly later: readonly LaterWebhooks[];
  }[];
  /** Dropped statuses: no message of this installation matches. */
  readonly dropped: number;
};

export type Known = {
  readonly account_id: number;
  /** Dispatches by the provider's message ID, for statuses without our message ID. */
  readonly byProviderId: ReadonlyMap<string, Dispatch>;
  readonly consentOf: (reply: ReplyEvent) => ConsentChange;
  /** Decides a failed status. */
  readonly failureOf: (status: Status, wasSent: boolean) => ReportedFailure;
  readonly now: Date;
};

/**
 * Returns the dispatch that our message ID in a status names; null when it is absent, invalid or
 * another account's.
 */
export function namedDispatch(accountId: number, { message_id }: DeliveryStatus): Dispatch | null {
  const named = message_id === null ? null : readMessageId(message_id);
  return named?.account_id === accountId ? named : null;
}

/** Returns the dispatch of a status; undefined when no message of the account matches. */
export function dispatchOf(
  known: Pick<Known, "account_id" | "byProviderId">,
  status: DeliveryStatus,
): Dispatch | undefined {
  const named = namedDispatch(known.account_id, status);
  return named ?? known.byProviderId.get(status.provider_message_id);
}

/** Sorts a batch. Changes nothing. */
export function sortWebhooks(batch: readonly ReadWebhooks[], known: Known): SortedWebhooks {
  const links: Link[] = [];
  const statuses: Status[] = [];
  const answers: AnswerStatus[] = [];
  const replies: ReplyEvent[] = [];
  const done: number[] = [];
  const later: LaterWebhooks[] = [];
  const side_effects: SortedWebhooks["side_effects"][number][] = [];
  let dropped = 0;
  for (const { row, events } of batch) {
    const sorted = events.map((of, i) => sortOne(of, known, { row, body: row.body[i] }));
    links.push(...sorted.flatMap((one) => one.links));
    statuses.push(...sorted.flatMap((one) => one.statuses));
    answers.push(...sorted.flatMap((one) => one.answers));
    replies.push(...sorted.flatMap((one) => one.replies));
    const body = row.body.filter((_, i) => sorted[i]!.unknown > 0);
    const { driver, received_at } = row;
    const due_at = nextTry(received_at, known.now, unknown_kept_ms);
    const kept = body.length > 0 && due_at ? [{ driver, body, received_at, due_at }] : [];
    if (!due_at) dropped += sorted.reduce((sum, one) => sum + one.unknown, 0);
    const here = sorted.flatMap((one) => one.side_effects);
    if (here.length > 0) side_effects.push({ id: row.id, side_effects: here, later: kept });
    else {
      done.push(row.id);
      later.push(...kept);
    }
  }
  return {
    links,
    moves: furthestMoves(statuses, known.failureOf),
    answers: furthestAnswers(answers),
    replies,
    done,
    later,
    side_effects,
    dropped,
  };
}

function sortOne(
  events: readonly StorableEvent[],
  known: Known,
  webhook: { readonly row: StoredWebhooks; readonly body: unknown },
) {
  const links: Extract<WebhookEvent, { kind: "link" }>[] = [];
  const statuses: Status[] = [];
  const answers: AnswerStatus[] = [];
  const replies: ReplyEvent[] = [];
  const side_effects: SideEffect[] = [];
  let unknown = 0;
  for (const event of events) {
    if (event.kind === "status") {
      const { message_id, at, recipient } = event;
      const isOptOut = event.status === "failed" && event.code === opted_out_code;
      const answer = answerStatus(known.account_id, event);
      if (answer) answers.push(answer);
      if (answer || (message_id !== null && isNoticeOrTest(known.account_id, message_id))) {
        // No row has the recipient: the status names the person, as the webhook of their own choice does.
        if (isOptOut && recipient)
          side_effects.push({ kind: "preference", ...recipient, at, stop: true });
        continue;
      }
      const dispatch = dispatchOf(known, event);
      if (!dispatch) {
        unknown++;
        continue;
      }
      statuses.push({ dispatch, event });
      if (isOptOut) side_effects.push({ kind: "refused_by_customer", dispatch, at });
    } else if (event.kind === "reply") {
      const consent = known.consentOf(event);
      if (consent === null) replies.push(event);
      else side_effects.push({ kind: consent === "stop" ? "opt_out" : "opt_in", reply: event });
    } else if (event.kind === "link") links.push(event);
    else if (event.kind !== "unread") side_effects.push(event);
  }
  const unread = events.find((event) => event.kind === "unread");
  if (unread) side_effects.push({ ...unread, ...webhook });
  const isOfStatuses = events.every(({ kind }) => kind === "status" || kind === "link");
  const recipients = isOfStatuses ? statuses.map(({ dispatch }) => dispatch) : [];
  return {
    links: links.map((link) => ({ ...link, recipients })),
    statuses,
    answers,
    replies,
    side_effects,
    unknown,
  };
}

/**
 * Returns the next attempt, after as long as the webhook has waited, at least 1 s; null after
 * `kept_ms`.
 */
export function nextTry(received_at: Date, now: Date, kept_ms: number): Date | null {
  const waited_ms = now.getTime() - received_at.getTime();
  if (waited_ms >= kept_ms) return null;
  return new Date(now.getTime() + Math.max(waited_ms, retry_first_ms));
}
