// The stub's webhooks: signed, batched and posted until they get a 200 response.
import { isBsuid } from "../../../server/lib/bsuid.ts";
import { createHmac } from "node:crypto";
import { Agent, request } from "undici";
import { seededRandom } from "./injected-errors.ts";
import type { StubSettings } from "./settings.ts";

/** How long messages are collected into a group that shares its timers. */
const group_ms = 10;
const posts_at_once = 8;
const retry_max_ms = 5_000;

/** A message that the provider accepted. */
export type AcceptedMessage = {
  readonly message_id: string;
  readonly provider_message_id: string;
  readonly to: string;
  readonly phone_number_id: string;
  /** Its only delivery status is a failure with this code. */
  readonly fails_with?: number;
  /** The customer's reply. */
  readonly reply?: string;
};

export type WebhookCounts = {
  /** Posts, including repetitions. */
  readonly posted: number;
  /** Bodies with a 200 response. */
  readonly confirmed: number;
  /** Bodies given up. */
  readonly given_up: number;
  /** Bodies and groups of messages still pending. */
  readonly waiting: number;
};

export type Webhooks = {
  /** Posts the delivery statuses of this message from now on. */
  follow(taken: AcceptedMessage): void;
  /** Posts `sent` at once; resolves when it gets a 200 response or is given up. */
  postSentNow(taken: AcceptedMessage): Promise<void>;
  /** Posts one change at once. */
  postChange(business_account_id: string, field: string, value: unknown): Promise<void>;
  /** Posts any body with a signature. */
  postBody(body: unknown): Promise<void>;
  counts(): WebhookCounts;
  close(): Promise<void>;
};

type Group = { readonly messages: AcceptedMessage[]; closed: boolean };
type Stage = "sent" | "delivered" | "read" | "reply";

export function openWebhooks(settings: () => StubSettings): Webhooks {
  const agent = new Agent({ connections: posts_at_once });
  const random = seededRandom(7);
  const timers = new Set<NodeJS.Timeout>();
  const queue: (() => Promise<void>)[] = [];
  let group_in_progress: Group | null = null;
  let running = 0;
  let closed = false;
  let posted = 0;
  let confirmed = 0;
  let given_up = 0;

  const later = (run: () => void, ms: number) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, ms);
    timers.add(timer);
  };
  const work = async () => {
    running += 1;
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) await job();
    running -= 1;
  };
  const pump = () => {
    if (running < posts_at_once) void work();
  };

  const postOnce = async (url: string, raw: string): Promise<boolean> => {
    posted += 1;
    const signature = createHmac("sha256", settings().app_secret).update(raw).digest("hex");
    try {
      const { statusCode, body } = await request(url, {
        method: "POST",
        dispatcher: agent,
        headers: {
          "content-type": "application/json",
          "x-hub-signature-256": `sha256=${signature}`,
        },
        body: raw,
      });
      await body.dump();
      return statusCode === 200;
    } catch {
      return false;
    }
  };
  const postBody = (body: unknown): Promise<void> => {
    const url = settings().callback_url;
    if (url === null || closed) return Promise.resolve();
    const raw = escapeNonAscii(JSON.stringify(body));
    const { promise, resolve } = Promise.withResolvers<void>();
    const attempt = (number: number): (() => Promise<void>) => {
      return async () => {
        // To the URL of this moment: the receiver may have moved since the last attempt.
        if (await postOnce(settings().callback_url ?? url, raw)) confirmed += 1;
        else if (number >= settings().attempts_max || closed) given_up += 1;
        else {
          const wait_ms = Math.min(settings().retry_ms * 2 ** (number - 1), retry_max_ms);
          later(() => {
            queue.push(attempt(number + 1));
            pump();
          }, wait_ms);
          return;
        }
        resolve();
      };
    };
    queue.push(attempt(1));
    if (settings().order === "duplicated") queue.push(attempt(1));
    pump();
    return promise;
  };

  const changeOf = (phone_number_id: string, content: object) => {
    const number = settings().numbers.find((one) => one.phone_number_id === phone_number_id);
    return {
      object: "whatsapp_business_account",
      entry: [
        {
          id: number?.business_account_id ?? "0",
          changes: [
            {
              field: "messages",
              value: {
                messaging_product: "whatsapp",
                metadata: {
                  display_phone_number: number?.display_phone_number.replaceAll(/\D/g, "") ?? "0",
                  phone_number_id,
                },
                ...content,
              },
            },
          ],
        },
      ],
    };
  };
  const report = (stage: Stage, messages: readonly AcceptedMessage[]) => {
    const { batch_max } = settings();
    const byNumber = Map.groupBy(messages, ({ phone_number_id }) => phone_number_id);
    for (const [phone_number_id, all] of byNumber) {
      for (let start = 0; start < all.length; start += batch_max) {
        const some = all.slice(start, start + batch_max);
        const content =
          stage === "reply"
            ? { contacts: some.map(contactOf), messages: some.map(replyOf) }
            : { statuses: some.map((taken) => statusOf(stage, taken)) };
        void postBody(changeOf(phone_number_id, content));
      }
    }
  };

  /** Posts each stage of a group at its time; in the mode `reordered`, the times are shuffled. */
  const runStages = ({ messages }: Group) => {
    const { statuses, sent_ms, delivered_ms, read_ms, reply_ms, order, late_ms } = settings();
    const extra_ms = order === "late" ? late_ms : 0;
    const delays = { sent: sent_ms, delivered: delivered_ms, read: read_ms };
    const succeeding = messages.filter(({ fails_with }) => fails_with === undefined);
    const failing = messages.filter(({ fails_with }) => fails_with !== undefined);
    const stages = statuses.filter((stage) => order !== "before_answer" || stage !== "sent");
    const times = stages.map((stage) => delays[stage] + extra_ms);
    if (order === "reordered") shuffle(times, random);
    for (const [index, stage] of stages.entries()) {
      if (succeeding.length > 0) later(() => report(stage, succeeding), times[index]!);
    }
    if (failing.length > 0) later(() => report("sent", failing), sent_ms + extra_ms);
    const replying = succeeding.filter(({ reply }) => reply !== undefined);
    if (replying.length > 0) later(() => report("reply", replying), reply_ms + extra_ms);
  };

  return {
    follow(taken) {
      if (settings().callback_url === null) return;
      if (group_in_progress === null || group_in_progress.closed) {
        const group: Group = { messages: [], closed: false };
        group_in_progress = group;
        later(() => {
          group.closed = true;
          runStages(group);
        }, group_ms);
      }
      group_in_progress.messages.push(taken);
    },
    postSentNow: (taken) =>
      postBody(changeOf(taken.phone_number_id, { statuses: [statusOf("sent", taken)] })),
    postChange: (business_account_id, field, value) =>
      postBody({
        object: "whatsapp_business_account",
        entry: [{ id: business_account_id, time: seconds(), changes: [{ field, value }] }],
      }),
    postBody,
    counts: () => ({
      posted,
      confirmed,
      given_up,
      waiting: timers.size + queue.length + running,
    }),
    async close() {
      closed = true;
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      queue.length = 0;
      await agent.destroy();
    },
  };
}

function statusOf(stage: "sent" | "delivered" | "read", taken: AcceptedMessage): object {
  const common = {
    id: taken.provider_message_id,
    timestamp: String(seconds()),
    ...(isBsuid(taken.to) ? { recipient_user_id: taken.to } : { recipient_id: taken.to }),
    biz_opaque_callback_data: taken.message_id === "" ? undefined : taken.message_id,
  };
  if (taken.fails_with !== undefined) {
    const error = { code: taken.fails_with, title: "Stub", message: "Stub" };
    return { ...common, status: "failed", errors: [error] };
  }
  const pricing = { billable: true, pricing_model: "PMP", category: "marketing" };
  return { ...common, status: stage, pricing };
}

function contactOf({ to }: AcceptedMessage): object {
  return { profile: { name: "Zoë" }, ...(isBsuid(to) ? { user_id: to } : { wa_id: to }) };
}

function replyOf({ to, reply, provider_message_id }: AcceptedMessage): object {
  return {
    ...(isBsuid(to) ? { from_user_id: to } : { from: to }),
    id: `${provider_message_id}R`,
    timestamp: String(seconds()),
    type: "text",
    text: { body: reply },
    context: { from: "0", id: provider_message_id },
  };
}

function seconds(): number {
  return Math.floor(Date.now() / 1_000);
}

/** Escapes non-ASCII characters as Meta does, so that a body serialized again has another signature. */
function escapeNonAscii(json: string): string {
  return json.replaceAll(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function shuffle(list: number[], random: () => number): void {
  for (let last = list.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [list[last], list[other]] = [list[other]!, list[last]!];
  }
}
