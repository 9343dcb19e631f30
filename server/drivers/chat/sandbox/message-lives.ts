// What becomes of accepted messages, in groups: all messages of a tick go through their reports
// together, so that thousands a second cost some dozen timers.
import type { ChatSender } from "../driver.ts";
import {
  statusReport,
  replyReport,
  type SandboxReport,
  type SandboxWebhook,
} from "./sandbox-webhook.ts";

const tick_ms = 50;
const reports_a_webhook = 500;

/** Runs once, after the delay, unless the answer is called first. */
export type Schedule = (run: () => void, delay_ms: number) => () => void;

export type Delays = {
  readonly sent_ms: number;
  readonly delivered_ms: number;
  readonly read_ms: number;
  readonly reply_ms: number;
};

export type Fate = "read" | "undeliverable" | "silent" | "replies STOP" | "replies yes";

export type Life = {
  readonly provider_message_id: string;
  readonly message_id: string;
  readonly to: string;
  readonly from: ChatSender;
  readonly fate: Fate;
};

export type MessageLives = {
  begin(life: Life): void;
  /** Messages with reports still to come. */
  readonly size: number;
  /** Ends all: nothing is delivered any more. */
  close(): void;
};

type Step = {
  readonly delay_ms: number;
  readonly report: (life: Life, at: Date) => SandboxReport | null;
};

/** Delays count from the end of a message's tick, so reports come up to 50 ms late, never early. */
export function openMessageLives(settings: {
  deliver: (webhook: SandboxWebhook) => void;
  delays: Delays;
  schedule: Schedule;
}): MessageLives {
  const { deliver, schedule } = settings;
  const steps = stepsOf(settings.delays);
  const last_ms = Math.max(...steps.map(({ delay_ms }) => delay_ms));
  const pending = new Set<() => void>();
  let group: Life[] | null = null;
  let size = 0;

  const later = (run: () => void, delay_ms: number) => {
    const cancel = schedule(() => {
      pending.delete(cancel);
      run();
    }, delay_ms);
    pending.add(cancel);
  };
  const live = (lives: readonly Life[]) => {
    for (const { delay_ms, report } of steps) {
      later(() => {
        for (const webhook of webhooksOf(lives, report)) deliver(webhook);
      }, delay_ms);
    }
    later(() => void (size -= lives.length), last_ms);
  };
  return {
    begin(life) {
      if (life.fate === "silent") return;
      size += 1;
      if (group !== null) {
        group.push(life);
        return;
      }
      const begun = [life];
      group = begun;
      later(() => {
        group = null;
        live(begun);
      }, tick_ms);
    },
    get size() {
      return size;
    },
    close() {
      for (const cancel of pending) cancel();
      pending.clear();
      group = [];
    },
  };
}

function stepsOf({ sent_ms, delivered_ms, read_ms, reply_ms }: Delays): readonly Step[] {
  const unlessUndeliverable =
    (status: "delivered" | "read") =>
    (life: Life, at: Date): SandboxReport | null =>
      life.fate === "undeliverable" ? null : statusReport(life, status, at);
  return [
    {
      delay_ms: sent_ms,
      report: (life, at) =>
        statusReport(life, life.fate === "undeliverable" ? "failed" : "sent", at),
    },
    { delay_ms: delivered_ms, report: unlessUndeliverable("delivered") },
    { delay_ms: read_ms, report: unlessUndeliverable("read") },
    {
      delay_ms: reply_ms,
      report(life, at) {
        if (life.fate === "replies STOP") return replyReport(life, "STOP", at);
        return life.fate === "replies yes" ? replyReport(life, "yes", at) : null;
      },
    },
  ];
}

/** A webhook speaks of one number, and is no longer than the providers make theirs. */
function webhooksOf(lives: readonly Life[], report: Step["report"]): SandboxWebhook[] {
  const at = new Date();
  const byNumber = Map.groupBy(
    lives,
    ({ from }) => `${from.business_account_id} ${from.phone_number_id}`,
  );
  return [...byNumber.values()].flatMap((ofNumber) => {
    const { phone_number_id, business_account_id } = ofNumber[0]!.from;
    const reports = ofNumber.flatMap((life) => report(life, at) ?? []);
    const count = Math.ceil(reports.length / reports_a_webhook);
    return Array.from({ length: count }, (_, index) => ({
      object: "trunkline_sandbox" as const,
      phone_number_id,
      business_account_id,
      reports: reports.slice(index * reports_a_webhook, (index + 1) * reports_a_webhook),
    }));
  });
}
