// Delivery statuses of users' answers to replies, which belong to no campaign.
import { readAnswerId } from "../../messages/answer-id.ts";
import { decideReportedAction } from "../../messages/error-actions.ts";
import { status_ranks, type DeliveryStatus } from "./furthest-moves.ts";

/** A row of record_answer_statuses. */
export type AnswerStatus = {
  readonly reply_id: number;
  readonly message_id: string;
  readonly status: DeliveryStatus["status"];
  readonly error: string | null;
  readonly error_code: number | null;
  readonly at: Date;
};

/** Returns the answer that a status is about; null when it is about none of the account. */
export function answerStatus(accountId: number, event: DeliveryStatus): AnswerStatus | null {
  const { message_id, status, at, code } = event;
  const named = message_id === null ? null : readAnswerId(message_id);
  if (message_id === null || named?.account_id !== accountId) return null;
  const isFailed = status === "failed";
  return {
    reply_id: named.reply_id,
    message_id,
    status,
    error: isFailed ? decideReportedAction(code, { error: null, attempts: 0 }, 0).error : null,
    error_code: isFailed ? code : null,
    at,
  };
}

/** Returns the furthest status of each answer. */
export function furthestAnswers(statuses: readonly AnswerStatus[]): AnswerStatus[] {
  const furthest = new Map<string, AnswerStatus>();
  for (const one of statuses) {
    const known = furthest.get(one.message_id);
    if (!known || status_ranks[one.status] > status_ranks[known.status])
      furthest.set(one.message_id, one);
  }
  return [...furthest.values()];
}
