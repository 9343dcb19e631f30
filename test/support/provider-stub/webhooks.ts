// The stub's webhooks: signed, gathered, posted until they are answered 200.
import { createHmac } from "node:crypto";
import { Agent, request } from "undici";
import { seededRandom } from "./faults.ts";
import type { StubSettings } from "./settings.ts";

/** How long messages gather before they go through their statuses together. */
const gather_ms = 10;
const posts_at_once = 8;
const retry_max_ms = 5_000;

/** A message that the provider took. */
export type Taken = {
  readonly message_id: string;
  readonly provider_message_id: string;
  readonly to: string;
  readonly phone_number_id: string;
  /** Its one report is a failure with this code. */
  readonly fails_with?: number;
  /** What the customer writes afterwards. */
  readonly reply?: string;
};

export type WebhookCounts = {
  /** Posts, repetitions included. */
  readonly posted: number;
  /** Bodies answered 200. */
  readonly confirmed: number;
  /** Bodies given up. */
  readonly given_up: number;
  /** Bodies and groups of messages still on their way. */
  readonly waiting: number;
};

export type Webhooks = {
  /** Reports on this message from now on. */
  follow(taken: Taken): void;
  /** Posts `sent` at once; resolves when it was answered 200 or given up. */
  reportSentNow(taken: Taken): Promise<void>;
  /** Posts one change, at once. */
  postChange(business_account_id: string, field: string, value: unknown): Promise<void>;
  /** Posts any body, signed. */
  postBody(body: unknown): Promise<void>;
  counts(): WebhookCounts;
  close(): Promise<void>;
};

type Group = { readonly messages: Taken[]; closed: boolean };
type Stage = "sent" | "delivered" | "read" | "reply";

export function openWebhooks(settings: () => StubSettings): Webhooks {
  const agent = new Agent({ connections: posts_at_once });
  const random = seededRandom(7);
  const timers = new Set<NodeJS.Timeout>();
  const queue: (() => Promise<void>)[] = [];
  let gathering: Group | null = null;
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
        if (await postOnce(url, raw)) confirmed += 1;
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

  const changeOf = (phone_number_id: string, news: object) => {
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
                ...news,
              },
            },
          ],
        },
      ],
    };
  };
  const report = (stage: Stage, messages: readonly Taken[]) => {
    const { batch_max } = settings();
    const byNumber = Map.groupBy(messages, ({ phone_number_id }) => phone_number_id);
    for (const [phone_number_id, all] of byNumber) {
      for (let start = 0; start < all.length; start += batch_max) {
        const some = all.slice(start, start + batch_max);
        const news =
          stage === "reply"
            ? { contacts: some.map(contactOf), messages: some.map(replyOf) }
            : { statuses: some.map((taken) => statusOf(stage, taken)) };
        void postBody(changeOf(phone_number_id, news));
      }
    }
  };

  /** The stages of a group, each at its time; in the mode `reordered` the times are shuffled. */
  const runStages = ({ messages }: Group) => {
    const { statuses, sent_ms, delivered_ms, read_ms, reply_ms, order, late_ms } = settings();
    const extra_ms = order === "late" ? late_ms : 0;
    const delays = { sent: sent_ms, delivered: delivered_ms, read: read_ms };
    const fine = messages.filter(({ fails_with }) => fails_with === undefined);
    const failing = messages.filter(({ fails_with }) => fails_with !== undefined);
    const stages = statuses.filter((stage) => order !== "before_answer" || stage !== "sent");
    const times = stages.map((stage) => delays[stage] + extra_ms);
    if (order === "reordered") shuffle(times, random);
    for (const [index, stage] of stages.entries()) {
      if (fine.length > 0) later(() => report(stage, fine), times[index]!);
    }
    if (failing.length > 0) later(() => report("sent", failing), sent_ms + extra_ms);
    const replying = fine.filter(({ reply }) => reply !== undefined);
    if (replying.length > 0) later(() => report("reply", replying), reply_ms + extra_ms);
  };

  return {
    follow(taken) {
      if (settings().callback_url === null) return;
      if (gathering === null || gathering.closed) {
        const group: Group = { messages: [], closed: false };
        gathering = group;
        later(() => {
          group.closed = true;
          runStages(group);
        }, gather_ms);
      }
      gathering.messages.push(taken);
    },
    reportSentNow: (taken) =>
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

function statusOf(stage: "sent" | "delivered" | "read", taken: Taken): object {
  const common = {
    id: taken.provider_message_id,
    timestamp: String(seconds()),
    recipient_id: taken.to,
    biz_opaque_callback_data: taken.message_id === "" ? undefined : taken.message_id,
  };
  if (taken.fails_with !== undefined) {
    const error = { code: taken.fails_with, title: "Stub", message: "Stub" };
    return { ...common, status: "failed", errors: [error] };
  }
  const pricing = { billable: true, pricing_model: "PMP", category: "marketing" };
  return { ...common, status: stage, pricing };
}

function contactOf({ to }: Taken): object {
  return { profile: { name: "Zoë" }, wa_id: to };
}

function replyOf({ to, reply, provider_message_id }: Taken): object {
  return {
    from: to,
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

/** As Meta does it: a body that is parsed and written anew has another signature. */
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
