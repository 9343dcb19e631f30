// A provider that is not there: everything runs without an account at anybody's. What becomes of a
// message is told by the last six digits of its recipient (docs/guides/sandbox.md).
import { randomUUID } from "node:crypto";
import {
  ChatSendError,
  type Accepted,
  type ChatDriver,
  type ChatSender,
  type Outgoing,
  type ProviderNumber,
} from "../driver.ts";
import { openMessageLives, type Delays, type Fate, type Schedule } from "./message-lives.ts";
import { readWebhook, type SandboxWebhook } from "./sandbox-webhook.ts";
import { openSandboxTemplates } from "./sandbox-templates.ts";

const retry_after_ms = 1_000;
/** Recipients remembered as throttled once; beyond, the oldest is forgotten and throttled again. */
const throttled_max = 10_000;
/** Messages that still have reports to come; beyond, the sandbox throttles. */
const living_max = 200_000;

const fates: Readonly<Record<string, Fate | "throttled">> = {
  "777001": "undeliverable",
  "777002": "throttled",
  "777003": "silent",
  "777004": "replies STOP",
  "777005": "replies yes",
};

export type SandboxSettings = {
  /**
   * Takes the reports, as the body of a webhook, through the same receiver as a real provider's: what is
   * stored is read by `readWebhook`. Called from a timer; must not throw.
   */
  readonly deliver: (webhook: SandboxWebhook) => void;
  /** From the acceptance of a message: 0.2 s, 0.5 s, 1.5 s and 2.5 s unless given. */
  readonly delays?: Delays;
  /** Injected by tests. */
  readonly schedule?: Schedule;
};

const usual_delays: Delays = {
  sent_ms: 200,
  delivered_ms: 500,
  read_ms: 1_500,
  reply_ms: 2_500,
};

/**
 * Opens the sandbox. It forgets everything when the process ends: templates it was told of, and
 * messages whose reports had not come yet. It takes any template's name.
 */
export function openSandboxDriver(settings: SandboxSettings): ChatDriver {
  const lives = openMessageLives({
    deliver: settings.deliver,
    delays: settings.delays ?? usual_delays,
    schedule: settings.schedule ?? scheduleByTimer,
  });
  const templates = openSandboxTemplates();
  const throttled = new Set<string>();
  const run = randomUUID().slice(0, 8);
  let last = 0;
  let closed = false;

  const send = (from: ChatSender, outgoing: Outgoing, signal?: AbortSignal): Accepted => {
    const isLate = performance.now() > (outgoing.begin_by_ms ?? Infinity);
    if (closed || isLate || signal?.aborted)
      throw new ChatSendError("unreachable", "the sandbox is closed, or the caller gave up");
    const fate = fates[outgoing.to.slice(-6)] ?? "read";
    if (lives.size >= living_max || (fate === "throttled" && isFirst(throttled, outgoing.to)))
      throw new ChatSendError("throttled", "the sandbox asks to send less (130429)", {
        code: 130_429,
        retry_after_ms,
      });
    last += 1;
    const provider_message_id = `wamid.sandbox-${run}-${last.toString(36)}`;
    lives.begin({
      provider_message_id,
      message_id: outgoing.message_id,
      to: outgoing.to,
      from,
      fate: fate === "throttled" ? "read" : fate,
    });
    return { provider_message_id };
  };

  return {
    send: async (from, outgoing, signal) => send(from, outgoing, signal),
    ...templates,
    findNumber: async (from) => describeNumber(from),
    uploadMedia: async () => `sandbox-media-${randomUUID()}`,
    readWebhook,
    async close() {
      closed = true;
      lives.close();
    },
  };
}

const scheduleByTimer: Schedule = (run, delay_ms) => {
  const timer = setTimeout(run, delay_ms);
  return () => clearTimeout(timer);
};

/** Every other message to such a number is throttled. */
function isFirst(throttled: Set<string>, to: string): boolean {
  if (throttled.delete(to)) return false;
  throttled.add(to);
  if (throttled.size > throttled_max) throttled.delete(throttled.values().next().value ?? "");
  return true;
}

/** Its digits are those of its id, so that each number of the sandbox looks like one of its own. */
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
