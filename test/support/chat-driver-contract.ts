// The contract suite of chat drivers.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import fc from "fast-check";
import {
  ChatSendError,
  type ChatDriver,
  type ChatSender,
  type Outgoing,
  type OutgoingMessage,
  type WebhookEvent,
  type TemplateDraft,
} from "../../server/drivers/chat/driver.ts";
import { eventually } from "./eventually.ts";

export type ChatDriverUnderTest = {
  readonly driver: ChatDriver;
  readonly from: ChatSender;
  /** The webhook bodies so far, stored and parsed again. */
  webhooks(): readonly unknown[];
  close(): Promise<void>;
};

export const template_message: OutgoingMessage = {
  kind: "template",
  name: "offer",
  language: "en_US",
  header: null,
  body: [{ text: "Zoë" }],
  buttons: [],
};

/** One message of each kind, by a description. */
export const message_kinds: Readonly<Record<string, OutgoingMessage>> = {
  "a template without values": { ...template_message, body: [] },
  "a template with positional values": {
    ...template_message,
    header: { text: { text: "July" } },
    body: [{ text: "Zoë" }, { text: "25%" }],
  },
  "a template with named values": {
    ...template_message,
    header: { text: { name: "month", text: "July" } },
    body: [{ name: "first_name", text: "Zoë" }],
  },
  "a template with an image by its ID": {
    ...template_message,
    header: { media: { kind: "image", id: "4490709327384033" } },
  },
  "a template with a video by its link": {
    ...template_message,
    header: { media: { kind: "video", link: "https://example.com/film.mp4" } },
  },
  "a template with a document": {
    ...template_message,
    header: {
      media: { kind: "document", link: "https://example.com/bill.pdf", filename: "bill.pdf" },
    },
  },
  "a template with a quick reply and a link": {
    ...template_message,
    buttons: [
      { type: "quick_reply", index: 0, payload: "stop" },
      { type: "url", index: 1, suffix: "summer?x=1" },
    ],
  },
  "a template with a code to copy": {
    ...template_message,
    buttons: [{ type: "copy_code", index: 0, code: "25OFF" }],
  },
  "a template with a flow": {
    ...template_message,
    buttons: [{ type: "flow", index: 0, flow_token: "t-1", flow_action_data: { step: 1 } }],
  },
  "a message without an action": interactive({ type: "none" }),
  "a message with buttons": interactive({
    type: "buttons",
    buttons: [
      { id: "yes", title: "Yes" },
      { id: "no", title: "No" },
    ],
  }),
  "a message with a list": interactive({
    type: "list",
    button: "Choose",
    sections: [
      {
        title: "Plans",
        rows: [
          { id: "a", title: "Basic", description: "The small one" },
          { id: "b", title: "Full" },
        ],
      },
    ],
  }),
  "a message with a flow": interactive({
    type: "flow",
    flow_id: "1234",
    cta: "Reserve",
    flow_token: "t-2",
    screen: "FIRST",
    data: { name: "Zoë" },
  }),
  "a message with a flow whose endpoint is asked": interactive({
    type: "flow",
    flow_id: "1234",
    cta: "Reserve",
    flow_token: "t-3",
  }),
};

function interactive(
  action: Extract<OutgoingMessage, { kind: "interactive" }>["action"],
): OutgoingMessage {
  return { kind: "interactive", header: "Hello", body: "Shall we?", footer: "Bye", action };
}

/** Numbers that decide the outcome of a message: see docs/guides/sandbox.md. */
const undeliverable = "919000777001";
const throttled = "919000777002";
const silent = "919000777003";
const says_stop = "919000777004";
const says_yes = "919000777005";
const restricted = "919000777006";

/** Registers the suite; `open` opens a driver whose outcomes the numbers above decide. */
export function chatDriverContract(name: string, open: () => Promise<ChatDriverUnderTest>): void {
  suite(`the contract of chat drivers: ${name}`, () => {
    let under: ChatDriverUnderTest;
    let count = 0;
    before(async () => {
      under = await open();
    });
    after(() => under.close());

    const outgoing = (to: string, message: OutgoingMessage = template_message): Outgoing => {
      count += 1;
      return { message_id: `contract-${name}-${count}`, to, message, route: "standard" };
    };
    const send = (message: Outgoing) => under.driver.send(under.from, message);
    const events = (): readonly WebhookEvent[] =>
      under
        .webhooks()
        .flatMap((body) => under.driver.readWebhook(body))
        .filter((batch) => batch.phone_number_id === under.from.phone_number_id)
        .flatMap((batch) => batch.events);
    const statusesOf = ({ message_id }: Outgoing) =>
      events().filter((report) => report.kind === "status" && report.message_id === message_id);
    const wasRead = (message: Outgoing) =>
      statusesOf(message).some((report) => report.kind === "status" && report.status === "read");

    test("accepts a hundred messages at once, each with its own ID", async () => {
      const to = (index: number) => `91980000${1_000 + index}`;
      const accepted = await Promise.all(
        Array.from({ length: 100 }, (_, index) => send(outgoing(to(index)))),
      );
      const ids = new Set(accepted.map((one) => one.provider_message_id));
      assert.equal(ids.size, 100);
      assert.ok(!ids.has(""));
    });

    test("accepts every kind of message", async () => {
      for (const [kind, message] of Object.entries(message_kinds)) {
        const { provider_message_id } = await send(outgoing("919812345678", message));
        assert.notEqual(provider_message_id, "", kind);
      }
    });

    test("accepts a message on the marketing route", async () => {
      const { provider_message_id } = await send({
        ...outgoing("919812345678"),
        route: "marketing",
      });
      assert.notEqual(provider_message_id, "");
    });

    test("events sent, delivered and read with both IDs and their times", async () => {
      const message = outgoing("919812345678");
      const began = Date.now();
      const { provider_message_id } = await send(message);
      await eventually(() => statusesOf(message).length === 3);
      const statuses = statusesOf(message).map((report) => {
        assert.ok(report.kind === "status");
        assert.equal(report.provider_message_id, provider_message_id);
        assert.equal(report.code, null);
        assert.ok(Math.abs(report.at.getTime() - began) < 60_000);
        return report.status;
      });
      assert.deepEqual(new Set(statuses), new Set(["sent", "delivered", "read"]));
    });

    for (const [to, code] of [
      [undeliverable, 131_026],
      [restricted, 131_048],
    ] as const)
      test(`events a message that failed after it was accepted, with code ${code}`, async () => {
        const message = outgoing(to);
        await send(message);
        await eventually(() => statusesOf(message).length > 0);
        const [report] = statusesOf(message);
        assert.ok(report?.kind === "status");
        assert.deepEqual([report.status, report.code], ["failed", code]);
      });

    test("events how long a message is throttled and accepts it afterwards", async () => {
      const error = await failureOf(send(outgoing(throttled)));
      assert.equal(error.failure, "throttled");
      assert.ok((error.retry_after_ms ?? 0) > 0);
      assert.notEqual((await send(outgoing(throttled))).provider_message_id, "");
    });

    test("accepts a message that never gets a delivery status", async () => {
      const quiet = outgoing(silent);
      await send(quiet);
      const loud = outgoing("919812345678");
      await send(loud);
      await eventually(() => wasRead(loud));
      assert.deepEqual(statusesOf(quiet), []);
    });

    test("events a customer's reply with the message that it answers", async () => {
      const [stop, yes] = [await send(outgoing(says_stop)), await send(outgoing(says_yes))];
      const replies = () => events().filter((report) => report.kind === "reply");
      await eventually(() => replies().length === 2);
      const read = replies().map(({ from, text, type, answers }) => ({
        from: from ?? "",
        text,
        type,
        answers,
      }));
      assert.deepEqual(
        read.toSorted((a, b) => a.from.localeCompare(b.from)),
        [
          { from: says_stop, text: "STOP", type: "text", answers: stop.provider_message_id },
          { from: says_yes, text: "yes", type: "text", answers: yes.provider_message_id },
        ],
      );
    });

    test("sends to a BSUID, and events the reply and statuses of a customer without a number", async () => {
      const message = outgoing("IN.13491208655302777004");
      const { provider_message_id } = await send(message);
      const theirs = () =>
        events().filter((one) => one.kind === "reply" && one.answers === provider_message_id);
      await eventually(() => theirs().length === 1);
      const [reply] = theirs();
      assert.ok(reply?.kind === "reply");
      assert.deepEqual(
        [reply.from, reply.bsuid, reply.text],
        [null, "IN.13491208655302777004", "STOP"],
      );
      assert.ok(wasRead(message));
    });

    test("submits a template, lists it unchanged and deletes it", async () => {
      const account = under.from.business_account_id;
      const draft: TemplateDraft = {
        name: "contract_offer",
        language: "en_US",
        category: "UTILITY",
        parameter_format: "NAMED",
        components: [
          {
            type: "BODY",
            text: "Hello {{first_name}}",
            example: { body_text_named_params: [{ param_name: "first_name", example: "Zoë" }] },
          },
          { type: "BUTTONS", buttons: [{ type: "QUICK_REPLY", text: "Stop" }] },
        ],
      };
      const made = await under.driver.createTemplate(account, draft);
      assert.notEqual(made.provider_template_id, "");
      const twice = await failureOf(under.driver.createTemplate(account, draft));
      assert.equal(twice.failure, "rejected");
      const listed = (await under.driver.listTemplates(account)).find(
        (one) => one.name === draft.name,
      );
      assert.deepEqual(listed, made);
      const { name: _, ...rest } = draft;
      assert.deepEqual({ ...made, ...rest }, made);
      await under.driver.deleteTemplate(account, draft.name);
      assert.deepEqual(
        (await under.driver.listTemplates(account)).filter((one) => one.name === draft.name),
        [],
      );
      const gone = await failureOf(under.driver.deleteTemplate(account, draft.name));
      assert.equal(gone.failure, "rejected");
    });

    test("finds a number with its digits", async () => {
      const number = await under.driver.findNumber(under.from);
      assert.equal(number.phone_number_id, under.from.phone_number_id);
      assert.match(number.phone_number, /^\d{7,15}$/);
      assert.equal(number.marketing_onboarded, true);
    });

    test("stores a file and returns its media ID", async () => {
      const file = {
        bytes: Buffer.from([0, 255, 13, 10]),
        mime_type: "image/png",
        name: 'a"b.png',
      };
      const ids = [
        await under.driver.uploadMedia(under.from, file),
        await under.driver.uploadMedia(under.from, file),
      ];
      assert.notEqual(ids[0], "");
      assert.notEqual(ids[0], ids[1]);
    });

    test("never sends a message that is aborted before the request starts", async () => {
      const error = await failureOf(
        under.driver.send(under.from, outgoing("919812345678"), AbortSignal.abort()),
      );
      assert.equal(error.failure, "unreachable");
    });

    test("never sends a message after its `begin_by_ms`", async () => {
      const late = { ...outgoing("919812345678"), begin_by_ms: performance.now() - 1 };
      const error = await failureOf(under.driver.send(under.from, late));
      assert.equal(error.failure, "late");
    });

    test("never throws on a webhook body, however malformed", () => {
      const bodies = under.webhooks();
      assert.ok(bodies.length > 0);
      fc.assert(
        fc.property(fc.anything(), (body) => {
          assert.ok(Array.isArray(under.driver.readWebhook(body)));
        }),
      );
      // Real bodies with one value replaced at any depth.
      fc.assert(
        fc.property(
          fc.constantFrom(...bodies),
          fc.nat(),
          fc.constantFrom(null, 0, -1, "", "x", [], {}, true, [null], "9".repeat(400)),
          (body, place, value) => {
            const damaged = replaceAt(structuredClone(body), place, value);
            assert.ok(Array.isArray(under.driver.readWebhook(damaged)));
          },
        ),
        { numRuns: 1_000 },
      );
    });

    test("sends nothing after close, which is idempotent", async () => {
      const own = await open();
      const message = outgoing("919812345678");
      await own.driver.send(own.from, message);
      await own.driver.close();
      await own.driver.close();
      assert.equal((await failureOf(own.driver.send(own.from, message))).failure, "unreachable");
      await own.close();
    });
  });
}

/** Returns the ChatSendError of a call; any other outcome fails the test. */
export async function failureOf(call: Promise<unknown>): Promise<ChatSendError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof ChatSendError, String(error));
    return error;
  }
  return assert.fail("the call did not fail");
}

/** Replaces the `place`-th value (in the order of a walk, modulo their number) of a JSON value. */
function replaceAt(root: unknown, place: number, value: unknown): unknown {
  const slots: { holder: Record<string, unknown>; key: string }[] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const holder = node as Record<string, unknown>;
    for (const key of Object.keys(holder)) {
      slots.push({ holder, key });
      walk(holder[key]);
    }
  };
  walk(root);
  const slot = slots[place % slots.length];
  if (slot !== undefined) slot.holder[slot.key] = value;
  return root;
}
