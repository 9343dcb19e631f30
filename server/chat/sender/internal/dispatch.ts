// Executes the requests of one sender: sends each marked message and produces its result.
import { ChatSendError, type Outgoing } from "../../../drivers/chat/driver.ts";
import { keepSpan, traced } from "../../../lib/tracing/tracing.ts";
import { failureEffects } from "../../inbound/failure-effects.ts";
import { begin_ms_max } from "../../messages/begin-limit.ts";
import { decideAction } from "../../messages/error-actions.ts";
import { makeMessageId } from "../../messages/message-id.ts";
import { aliasOf } from "../../messages/phone-alias.ts";
import { renderMessage } from "../../messages/render-message.ts";
import { inFlightMax, type Sender } from "./sender.ts";
import type { Marked, Result } from "./sender-statements.ts";

/**
 * How long requests in flight may take to finish at a stop; after that their outcome is unknown.
 */
const drain_ms = 6_000;

export type Dispatch = {
  /**
   * Sends them as slots become free. `asked_at`: start of the iteration that marked them (monotonic
   * ms).
   */
  start(marked: readonly Marked[], asked_at: number): void;
  /** In flight or waiting for a slot. */
  busy(): number;
  has(row: DispatchKey): boolean;
  /** Returns waiting messages to the queue, and limits how long requests in flight may take. */
  drain(): void;
  /** Resolves when nothing is in flight. */
  ended(): Promise<void>;
};

/** Calls `pause` with the time for which the provider throttles this number. */
export function openDispatch(sender: Sender, pause: (ms: number) => void): Dispatch {
  const known = new Map<string, Marked>();
  const waiting: { marked: Marked; asked_at: number; request: typeof sendMarked }[] = [];
  const giveUp = new AbortController();
  let under_way = 0;
  let limit: NodeJS.Timeout | null = null;
  let resolveEnded = () => {};

  const finish = (marked: Marked, outcome: Outcome) => {
    const { campaign_id, id, dispatches } = marked;
    known.delete(keyOf(marked));
    sender.results.push({ campaign_id, id, dispatches, ...outcome });
    sender.wake();
  };
  const sendMarked = async (marked: Marked, begin_by_ms: number) => {
    under_way++;
    const outcome = await sendInSpan(sender, marked, { begin_by_ms, giveUp: giveUp.signal, pause });
    under_way--;
    finish(marked, outcome);
    fill();
    if (under_way === 0) resolveEnded();
  };
  const fill = () => {
    while (under_way < inFlightMax(sender) && waiting.length > 0) {
      const { marked, asked_at, request } = waiting.shift()!;
      const begin_by_ms = asked_at + begin_ms_max;
      const isFresh = performance.now() < begin_by_ms && sender.lease.mayProceed();
      if (isFresh) void request(marked, begin_by_ms);
      else finish(marked, notBegun(sender));
    }
  };

  return {
    start(marked, asked_at) {
      // A message may begin when another one has ended: it is still part of the trace of its batch.
      const request = keepSpan(sendMarked);
      for (const one of marked) {
        known.set(keyOf(one), one);
        waiting.push({ marked: one, asked_at, request });
      }
      fill();
    },
    busy: () => known.size,
    has: (row) => known.has(keyOf(row)),
    drain() {
      limit ??= setTimeout(() => giveUp.abort(), drain_ms);
      for (const { marked } of waiting.splice(0)) finish(marked, notBegun(sender));
    },
    async ended() {
      const { promise, resolve } = Promise.withResolvers<void>();
      resolveEnded = resolve;
      if (under_way > 0) await promise;
      if (limit) clearTimeout(limit);
    },
  };
}

type Outcome = Omit<Result, "campaign_id" | "id" | "dispatches">;

type DispatchKey = Pick<Marked, "campaign_id" | "id" | "dispatches">;

/** Identifies a dispatch: a recipient may be sent to again before the response to the previous dispatch arrives. */
export function keyOf({ campaign_id, id, dispatches }: DispatchKey): string {
  return `${campaign_id}:${id}:${dispatches}`;
}

/** Returns a marked, unsent message to the queue unchanged except for its dispatch number. */
function notBegun({ app }: Sender): Outcome {
  return { state: "deferred", due_at: app.clock.now() };
}

type Within = {
  readonly begin_by_ms: number;
  readonly giveUp: AbortSignal;
  readonly pause: (ms: number) => void;
};

function sendInSpan(sender: Sender, marked: Marked, within: Within): Promise<Outcome> {
  const attributes = {
    "trunkline.account.id": sender.lease.account_id,
    "trunkline.campaign.id": marked.campaign_id,
    "trunkline.recipient.id": marked.id,
  };
  return traced("send chat message", { attributes }, async (span) => {
    const outcome = await send(sender, marked, within);
    span?.set({ "trunkline.outcome": outcome.state });
    return outcome;
  });
}

/** Sends one message and returns its result. Never throws. */
async function send(sender: Sender, marked: Marked, within: Within): Promise<Outcome> {
  const { app, lease, number, driver } = sender;
  const campaign = sender.campaigns.get(marked.campaign_id);
  if (!campaign?.plan || !driver) return notBegun(sender);
  const message_id = makeMessageId({
    account_id: lease.account_id,
    campaign_id: marked.campaign_id,
    recipient_id: marked.id,
    dispatches: marked.dispatches,
  });
  const rendered = renderMessage(campaign.plan, marked.variables, message_id);
  if ("missing" in rendered) return { state: "refused", error: "missing_variable" };
  const isMarketing =
    number.marketing_onboarded && (campaign.marketing_required || campaign.latest.marketing);
  const route = isMarketing ? "marketing" : "standard";
  try {
    const { provider_message_id, wa_id } = await driver.send(
      {
        phone_number_id: number.provider_phone_number_id,
        business_account_id: number.business_account_id,
      },
      {
        message_id,
        to: marked.phone,
        message: rendered.message,
        route,
        // Also aborts while the request waits for a connection.
        begin_by_ms: within.begin_by_ms,
      },
      within.giveUp,
    );
    const alias = aliasOf(marked.phone, wa_id);
    const accepted = { state: "accepted", provider_message_id, at: app.clock.now() } as const;
    return alias === null ? accepted : { ...accepted, alias };
  } catch (error) {
    return failureOf(sender, { marked, route }, error, within.pause);
  }
}

function failureOf(
  sender: Sender,
  { marked, route }: { readonly marked: Marked; readonly route: Outgoing["route"] },
  error: unknown,
  pause: (ms: number) => void,
): Outcome {
  const { app, campaigns, number, settings } = sender;
  const isKnown = error instanceof ChatSendError;
  if (!isKnown)
    app.log.error({ err: error }, "a chat driver threw an error that is not a ChatSendError");
  const failure = isKnown ? error : new ChatSendError("unknown", "the driver failed");
  if (failure.failure === "late") return notBegun(sender);
  const action = decideAction(failure, marked, app.random(), route);
  const campaign = campaigns.get(marked.campaign_id);
  if (action.slow_ms !== undefined) pause(action.slow_ms);
  if (action.marketing_route && campaign) campaign.marketing_required = number.marketing_onboarded;
  const { campaign_id, phone } = marked;
  const template_id = campaign?.latest.template_id ?? null;
  const message = { campaign_id, template_id, chat_number_id: sender.number_id, phone };
  const now = app.clock.now();
  sender.effects.push(...failureEffects({ ...message, code: failure.code }, action, now));
  const { state, error: name, recipient_side = false } = action;
  const outcome = { state, error: name, error_code: failure.code, recipient_side };
  if (action.state === "refused") return outcome;
  const wait_ms = action.state === "unknown" ? settings.settle_ms : action.after_ms;
  return { ...outcome, due_at: new Date(now.getTime() + wait_ms) };
}
