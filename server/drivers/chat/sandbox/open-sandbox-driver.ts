// A simulated provider, which needs no account. The last six digits of the recipient decide the outcome of a
// message (docs/guides/sandbox.md).
import { randomUUID } from "node:crypto";
import {
  ChatSendError,
  type Accepted,
  type ChatDriver,
  type ChatSender,
  type Outgoing,
  type ProviderNumber,
} from "../driver.ts";
import {
  simulateDelivery,
  type Delays,
  type Schedule,
  type SimulatedOutcome,
} from "./simulate-delivery.ts";
import { readWebhook, simulatedReply, type SandboxWebhook } from "./sandbox-webhook.ts";
import { openSandboxTemplates } from "./sandbox-templates.ts";

const retry_after_ms = 1_000;
/** How many refused recipients are remembered; beyond that, the oldest is dropped and refused again. */
const refused_max = 10_000;
/** The most messages with events still to come; beyond that, the sandbox throttles. */
const pending_max = 200_000;

const outcomes: Readonly<Record<string, SimulatedOutcome | "throttled">> = {
  "777001": "undeliverable",
  "777002": "throttled",
  "777003": "silent",
  "777004": "replies STOP",
  "777005": "replies yes",
  "777006": "restricted",
};

export type SandboxSettings = {
  /**
   * Receives the events as a webhook body, which is stored and read by `readWebhook` like a real provider's.
   * Called from a timer; must not throw.
   */
  readonly deliver: (webhook: SandboxWebhook) => void;
  /** Delays from the acceptance of a message; 0.2 s, 0.5 s, 1.5 s and 2.5 s by default. */
  readonly delays?: Delays;
  /** Injected by tests. */
  readonly schedule?: Schedule;
};

const default_delays: Delays = {
  sent_ms: 200,
  delivered_ms: 500,
  read_ms: 1_500,
  reply_ms: 2_500,
};

/**
 * Opens the sandbox. Its templates and pending events are in memory and lost when the process ends. It accepts
 * messages with any template name.
 */
export function openSandboxDriver(settings: SandboxSettings): ChatDriver {
  const simulation = simulateDelivery({
    deliver: settings.deliver,
    delays: settings.delays ?? default_delays,
    schedule: settings.schedule ?? scheduleByTimer,
  });
  const templates = openSandboxTemplates();
  const refused = new Set<string>();
  const run = randomUUID().slice(0, 8);
  let last = 0;
  let closed = false;

  const send = (from: ChatSender, outgoing: Outgoing, signal?: AbortSignal): Accepted => {
    if (closed || signal?.aborted)
      throw new ChatSendError("unreachable", "the sandbox is closed or the request was aborted");
    if (performance.now() > (outgoing.begin_by_ms ?? Infinity))
      throw new ChatSendError("late", "the message was too late for the sandbox");
    const outcome = outcomeOf(refused, outgoing.to);
    if (simulation.size >= pending_max || outcome === "throttled")
      throw new ChatSendError("throttled", "the sandbox throttled the message (130429)", {
        code: 130_429,
        retry_after_ms,
      });
    last += 1;
    const provider_message_id = `wamid.sandbox-${run}-${last.toString(36)}`;
    simulation.add({
      provider_message_id,
      message_id: outgoing.message_id,
      to: outgoing.to,
      from,
      outcome,
    });
    return { provider_message_id };
  };

  return {
    send: async (from, outgoing, signal) => send(from, outgoing, signal),
    ...templates,
    findNumber: async (from) => describeNumber(from),
    uploadMedia: async () => `sandbox-media-${randomUUID()}`,
    readWebhook,
    simulateReply: (from, reply): SandboxWebhook => ({
      object: "trunkline_sandbox",
      ...from,
      reports: [simulatedReply(reply, `wamid.sandbox-${randomUUID()}`)],
    }),
    async close() {
      closed = true;
      simulation.close();
    },
  };
}

const scheduleByTimer: Schedule = (run, delay_ms) => {
  const timer = setTimeout(run, delay_ms);
  return () => clearTimeout(timer);
};

/** Returns what happens to a message. What another attempt can repair happens to every other message of a number. */
function outcomeOf(refused: Set<string>, to: string): SimulatedOutcome | "throttled" {
  const outcome = outcomes[to.slice(-6)] ?? "read";
  if (outcome !== "throttled" && outcome !== "restricted") return outcome;
  if (refused.delete(to)) return "read";
  refused.add(to);
  if (refused.size > refused_max) refused.delete(refused.values().next().value ?? "");
  return outcome;
}

/** Describes a number, with digits derived from its ID so that numbers differ. */
function describeNumber({ phone_number_id }: ChatSender): ProviderNumber {
  const digits = phone_number_id.replaceAll(/\D/g, "").slice(-10).padStart(10, "5");
  return {
    phone_number_id,
    phone_number: `1${digits}`,
    name: "Sandbox",
    quality: "GREEN",
    marketing_onboarded: true,
  };
}
