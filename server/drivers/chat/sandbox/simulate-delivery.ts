// Simulates the delivery of accepted messages. The messages of a tick share their timers, so that thousands per
// second need only a few dozen.
import type { ChatSender } from "../driver.ts";
import {
  statusEvent,
  replyEvent,
  type SandboxEvent,
  type SandboxWebhook,
} from "./sandbox-webhook.ts";

const tick_ms = 50;
const reports_per_webhook = 500;

/** Runs once after the delay, unless the returned function is called first. */
export type Schedule = (run: () => void, delay_ms: number) => () => void;

export type Delays = {
  readonly sent_ms: number;
  readonly delivered_ms: number;
  readonly read_ms: number;
  readonly reply_ms: number;
};

export type SimulatedOutcome =
  | "read"
  | "undeliverable"
  | "restricted"
  | "silent"
  | "replies STOP"
  | "replies yes";

/** The provider's code of a message that fails after it was accepted. */
const failure_codes: Partial<Readonly<Record<SimulatedOutcome, number>>> = {
  undeliverable: 131_026,
  restricted: 131_048,
};

export type SimulatedMessage = {
  readonly provider_message_id: string;
  readonly message_id: string;
  readonly to: string;
  readonly from: ChatSender;
  readonly outcome: SimulatedOutcome;
};

export type DeliverySimulation = {
  add(message: SimulatedMessage): void;
  /** How many messages have events still to come. */
  readonly size: number;
  /** Cancels all pending events. */
  close(): void;
};

type Step = {
  readonly delay_ms: number;
  readonly eventOf: (message: SimulatedMessage, at: Date) => SandboxEvent | null;
};

/** Opens the simulation. Delays count from the end of a message's tick, so events are up to 50 ms late, never early. */
export function simulateDelivery(settings: {
  deliver: (webhook: SandboxWebhook) => void;
  delays: Delays;
  schedule: Schedule;
}): DeliverySimulation {
  const { deliver, schedule } = settings;
  const steps = buildSteps(settings.delays);
  const last_ms = Math.max(...steps.map(({ delay_ms }) => delay_ms));
  const pending = new Set<() => void>();
  let batch: SimulatedMessage[] | null = null;
  let size = 0;

  const later = (run: () => void, delay_ms: number) => {
    const cancel = schedule(() => {
      pending.delete(cancel);
      run();
    }, delay_ms);
    pending.add(cancel);
  };
  const scheduleSteps = (messages: readonly SimulatedMessage[]) => {
    for (const { delay_ms, eventOf } of steps) {
      later(() => {
        for (const webhook of buildWebhooks(messages, eventOf)) deliver(webhook);
      }, delay_ms);
    }
    later(() => void (size -= messages.length), last_ms);
  };
  return {
    add(message) {
      if (message.outcome === "silent") return;
      size += 1;
      if (batch !== null) {
        batch.push(message);
        return;
      }
      const messages = [message];
      batch = messages;
      later(() => {
        batch = null;
        scheduleSteps(messages);
      }, tick_ms);
    },
    get size() {
      return size;
    },
    close() {
      for (const cancel of pending) cancel();
      pending.clear();
      batch = [];
    },
  };
}

function buildSteps({ sent_ms, delivered_ms, read_ms, reply_ms }: Delays): readonly Step[] {
  const unlessFailed =
    (status: "delivered" | "read") =>
    (message: SimulatedMessage, at: Date): SandboxEvent | null =>
      message.outcome in failure_codes ? null : statusEvent(message, status, at, null);
  return [
    {
      delay_ms: sent_ms,
      eventOf(message, at) {
        const code = failure_codes[message.outcome] ?? null;
        return statusEvent(message, code === null ? "sent" : "failed", at, code);
      },
    },
    { delay_ms: delivered_ms, eventOf: unlessFailed("delivered") },
    { delay_ms: read_ms, eventOf: unlessFailed("read") },
    {
      delay_ms: reply_ms,
      eventOf(message, at) {
        if (message.outcome === "replies STOP") return replyEvent(message, "STOP", at);
        return message.outcome === "replies yes" ? replyEvent(message, "yes", at) : null;
      },
    },
  ];
}

/** Builds webhooks of one number each, of the size that providers use. */
function buildWebhooks(
  messages: readonly SimulatedMessage[],
  eventOf: Step["eventOf"],
): SandboxWebhook[] {
  const at = new Date();
  const byNumber = Map.groupBy(
    messages,
    ({ from }) => `${from.business_account_id} ${from.phone_number_id}`,
  );
  return [...byNumber.values()].flatMap((messages_of_number) => {
    const { phone_number_id, business_account_id } = messages_of_number[0]!.from;
    const reports = messages_of_number.flatMap((message) => eventOf(message, at) ?? []);
    const count = Math.ceil(reports.length / reports_per_webhook);
    return Array.from({ length: count }, (_, index) => ({
      object: "trunkline_sandbox" as const,
      phone_number_id,
      business_account_id,
      reports: reports.slice(index * reports_per_webhook, (index + 1) * reports_per_webhook),
    }));
  });
}
