// Answers a customer's message with a text, within the customer service window.
import { lockUnfrozen } from "../../accounts/accounts/is-frozen.ts";
import type { Caller } from "../../accounts/caller.ts";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { wasSuppressedSince } from "../../audience/suppressions/suppressions.ts";
import type { App } from "../../engine/app.ts";
import { identityOf } from "../../lib/bsuid.ts";
import { statement, type Executor, type Tx } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import type { HoldReason } from "../holds/holds.ts";
import { makeAnswerId } from "../messages/answer-id.ts";
import type { ReplyAnswer } from "../messages/reply-answer.ts";
import { sendSingleMessage } from "./internal/send-single-message.ts";
import { singleMessageUuid } from "./internal/single-message-id.ts";
import type { TestMessageResponse } from "./test-message-schema.ts";

const window_ms = 24 * 3_600_000;

/** Holds under which the provider rejects an answer, unless they allow it; a pause of campaigns stops no person. */
const forbidding: ReadonlySet<HoldReason> = new Set(["auth", "sender_restricted", "throttled"]);

/** The sender; under one `key` of an account the answer is sent at most once. */
export type Answerer = {
  readonly account: Caller["account"];
  readonly actor: Actor;
  readonly key: string | null;
};

/**
 * Sends the text to who sent the reply, from the number that got it, for one chat credit, which is refunded
 * when the provider definitely rejected it. Stores it with the reply before it is sent. Errors: not-found;
 * conflict (window closed, suppressed since the person last wrote, number inactive or held, already started
 * under the same key); insufficient-credit; unavailable (no driver, or frozen).
 */
export async function answerReply(
  app: App,
  { account, actor, key }: Answerer,
  replyId: number,
  text: string,
): Promise<TestMessageResponse> {
  const now = app.clock.now();
  const account_id = account.id;
  const { chat_number_id, to, isStopped } = await findAnswerable(app, account_id, replyId, now);
  const uuid = singleMessageUuid(account_id, key);
  const message_id = makeAnswerId({ account_id, reply_id: replyId }, uuid);
  const sent_by = actor.user_id;
  const begun: ReplyAnswer = {
    message_id,
    text,
    outcome: "unknown",
    error: null,
    status: null,
    status_at: null,
    sent_by,
    sent_at: now.toISOString(),
  };
  return sendSingleMessage(app, {
    account_id,
    order: { chat_number_id, template_id: null, mm_lite: { used: false } },
    to,
    message_id,
    message: {
      kind: "interactive",
      header: null,
      body: text,
      footer: null,
      action: { type: "none" },
    },
    subject: `chat_answer:${uuid}`,
    forbidding,
    is_answer: true,
    isSuppressed: isStopped,
    note: async (tx) => {
      await lockUnfrozen(tx, account_id);
      await keepAnswer(tx, account_id, replyId, begun);
      await recordAudit(tx, actor, {
        at: now,
        action: "chat_reply.answered",
        subject_id: replyId,
        detail: { message_id },
      });
    },
    record: async ({ outcome, error }) => {
      await settle(app.db.pool, [account_id, replyId, message_id, outcome, error]);
    },
  });
}

type Found = {
  readonly chat_number_id: number;
  readonly to: string | null;
  readonly is_active: boolean | null;
  /** When the person last wrote to the number. */
  readonly latest_at: Date;
};

// The phone of a BSUID may have become known since. A later message of the person keeps the window open.
const findReply = statement<Found>(`
  select r.chat_number_id, coalesce(nullif(p.phone, ''), r.bsuid) as to, n.active as is_active,
    greatest(r.received_at,
      (select max(o.received_at) from chat_replies o
       where o.account_id = $1 and o.phone = any (phone_spellings(p.phone))
         and o.chat_number_id = r.chat_number_id),
      (select max(o.received_at) from chat_replies o
       where o.account_id = $1 and o.bsuid = r.bsuid and o.chat_number_id = r.chat_number_id)) as latest_at
  from chat_replies r
  cross join lateral (
    select coalesce(r.phone, (
      select b.phone_key from person_bsuids b
      where b.account_id = $1 and b.bsuid = r.bsuid)) as phone) p
  left join chat_numbers n on n.account_id = $1 and n.id = r.chat_number_id
  where r.account_id = $1 and r.id = $2`);

async function findAnswerable(app: App, accountId: number, replyId: number, now: Date) {
  const [reply] = await findReply(app.db.pool, [accountId, replyId]);
  // Erased replies name no one.
  if (!reply || reply.to === null) throw notFound();
  const { chat_number_id, to, is_active, latest_at } = reply;
  if (is_active !== true) throw new Refusal("conflict", "The chat number is not active");
  if (latest_at.getTime() + window_ms <= now.getTime())
    throw new Refusal(
      "conflict",
      `The customer service window closed 24 hours after the person last wrote (${latest_at.toISOString()}); send a template`,
    );
  const isStopped = (db: Executor) => {
    const during = { since: latest_at, now: app.clock.now() };
    return wasSuppressedSince(db, accountId, identityOf(to), during);
  };
  if (await isStopped(app.db.query))
    throw new Refusal("conflict", "The person was suppressed after they last wrote");
  return { chat_number_id, to, isStopped };
}

async function keepAnswer(tx: Tx, accountId: number, replyId: number, answer: ReplyAnswer) {
  const kept = await appendAnswer(tx, [accountId, replyId, JSON.stringify([answer])]);
  if (kept.length === 0) throw notFound();
}

const appendAnswer = statement<{ id: number }>(`
  update chat_replies set answers = answers || $3::jsonb
  where account_id = $1 and id = $2 and coalesce(phone, bsuid) <> ''
  returning id`);

// A delivery status may have arrived before the provider's response, and knows more.
const settle = statement(`
  update chat_replies set answers = (
    select coalesce(jsonb_agg(
      case when a ->> 'message_id' = $3 and a ->> 'status' is null then a || jsonb_build_object('outcome', $4::text, 'error', $5::text) else a end
      order by at), '[]')
    from jsonb_array_elements(answers) with ordinality as e (a, at))
  where account_id = $1 and id = $2`);
