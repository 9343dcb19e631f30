import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import type { InjectedError } from "../support/provider-stub/injected-errors.ts";
import type { LogEntry } from "../support/provider-stub/received-log.ts";
import {
  campaigns_path,
  openChatDrillFixture,
  phonesOf,
  template_name,
  type ChatDrillFixture,
} from "./chat-drill-fixture.ts";

type Case = {
  readonly what: string;
  readonly injected: Omit<InjectedError, "to">;
  readonly state: "read" | "refused" | "unresolved" | "undelivered";
  readonly error?: string;
  /** Requests at the provider. */
  readonly requests: number;
  /** The minimum pause between the first two. */
  readonly gap_ms?: number;
};

const once = { times: 1 };
/** The provider and the service read the clock at different moments, and timers may fire 1 ms early. */
const tolerance_ms = 20;
/** The cases of the table of error classes, one recipient each. */
const cases: readonly Case[] = [
  {
    what: "a temporary error",
    injected: { kind: "graph_500", ...once },
    state: "read",
    requests: 2,
  },
  { what: "500 with an HTML page", injected: { kind: "plain_500", ...once }, ...unresolved() },
  {
    what: "429",
    injected: { kind: "throttle", ...once },
    state: "read",
    requests: 2,
    gap_ms: 1_000,
  },
  {
    what: "429 without Retry-After",
    injected: { kind: "throttle", retry_after_seconds: null, ...once },
    state: "read",
    requests: 2,
    gap_ms: 900,
  },
  {
    what: "131056",
    injected: { kind: "refuse", code: 131_056, ...once },
    state: "read",
    requests: 2,
    gap_ms: 6_000,
  },
  {
    what: "131053 once",
    injected: { kind: "refuse", code: 131_053, ...once },
    state: "read",
    requests: 2,
  },
  { what: "131053 twice", ...refused(131_053, "media_failed"), requests: 2 },
  {
    what: "connection cut, accepted",
    injected: { kind: "cut_after_body", ...once },
    state: "read",
    requests: 1,
  },
  {
    what: "connection cut",
    injected: { kind: "cut_after_body", taken: false, ...once },
    ...unresolved(),
  },
  {
    what: "partial response, accepted",
    injected: { kind: "cut_answer", ...once },
    state: "read",
    requests: 1,
  },
  {
    what: "broken JSON, accepted",
    injected: { kind: "broken_json", ...once },
    state: "read",
    requests: 1,
  },
  {
    what: "broken JSON",
    injected: { kind: "broken_json", taken: false, ...once },
    ...unresolved(),
  },
  {
    what: "no message ID, accepted",
    injected: { kind: "no_id", ...once },
    state: "read",
    requests: 1,
  },
  {
    what: "no response, accepted",
    injected: { kind: "hang", hang_ms: 60_000, ...once },
    state: "read",
    requests: 1,
  },
  {
    what: "no response",
    injected: { kind: "hang", hang_ms: 60_000, taken: false, ...once },
    ...unresolved(),
  },
  {
    what: "accepted and failed later",
    injected: { kind: "fail_later", code: 131_026 },
    state: "undelivered",
    error: "undeliverable",
    requests: 1,
  },
  ...(
    [
      [131_026, "undeliverable"],
      [131_021, "same_number"],
      [131_030, "not_allowed_recipient"],
      [131_050, "opted_out"],
      [130_472, "experiment_group"],
      [131_047, "outside_window"],
      [132_000, "invalid_parameter"],
      [100, "invalid_parameter"],
      [987_654, "provider_error"],
    ] as const
  ).map(([code, word]) => ({ what: String(code), ...refused(code, word) })),
];

function unresolved() {
  return { state: "unresolved", error: "outcome_unknown", requests: 1 } as const;
}

function refused(code: number, error: string) {
  return { injected: { kind: "refuse", code }, state: "refused", error, requests: 1 } as const;
}

type RecipientRow = {
  phone: string;
  state: string;
  error: string | null;
  error_code: number | null;
  dispatches: number;
};

const readRecipients = (fixture: ChatDrillFixture, campaignId: number) =>
  fixture.query<RecipientRow>(
    "select phone, state, error, error_code, dispatches from chat_recipients where campaign_id = $1 order by id",
    [campaignId],
  );

async function requestsTo(fixture: ChatDrillFixture, phone: string): Promise<LogEntry[]> {
  return (await fixture.stub.log()).filter(({ to }) => to === phone);
}

test("each provider error is handled as the table of error classes says, and no message is sent twice", async () => {
  await using fixture = await openChatDrillFixture({
    rate_per_second: 50,
    env: { CHAT_SETTLE_SECONDS: "5" },
  });
  await fixture.startWorker();
  const phones = phonesOf(cases.length);
  const injected_errors = cases.map(({ injected }, index) => ({ ...injected, to: phones[index]! }));
  await fixture.stub.setErrors(injected_errors);
  const campaign_id = await fixture.createCampaign(phones);
  // All but the requests without a response, whose time-out is 30 s.
  await eventually(async () => {
    const open = (await readRecipients(fixture, campaign_id)).filter(({ state }) =>
      ["queued", "deferred", "dispatching", "unknown"].includes(state),
    );
    return open.length <= 1;
  });

  await checkThrottledNumber(fixture);
  await checkCutBeforeBody(fixture);
  await checkHolds(fixture);
  await checkMarketingRoute(fixture);
  await checkFrequencyCap(fixture);
  await checkFailedCampaign(fixture);

  await fixture.awaitStatus(campaign_id, "completed");
  const [beyond] = await fixture.query<{ late: boolean }>(
    "select clock_timestamp() > created_at + interval '30 s' as late from chat_campaigns where id = $1",
    [campaign_id],
  );
  assert.ok(beyond!.late, "the time-out of the requests without a response has passed");
  await fixture.awaitWebhooks();
  for (const [index, found] of (await readRecipients(fixture, campaign_id)).entries()) {
    const { what, state, error = null, requests, gap_ms = 0 } = cases[index]!;
    const seen = await requestsTo(fixture, found.phone);
    assert.deepEqual(
      { what, state: found.state, error: found.error, seen: seen.length },
      { what, state, error, seen: requests },
    );
    // On a busy machine a message may be marked and returned to the queue before it is sent.
    assert.ok(found.dispatches >= requests, what);
    if (gap_ms > 0) {
      const gap = seen[1]!.at - seen[0]!.at;
      assert.ok(gap >= gap_ms - tolerance_ms, `${what}: retried after ${gap} ms`);
    }
  }
  const suppressed = await fixture.query<{ phone: string }>("select phone from suppressions");
  assert.deepEqual(suppressed, [
    { phone: phones[cases.findIndex(({ error }) => error === "opted_out")] },
  ]);
  console.log(
    `${cases.length} provider errors, ${JSON.stringify(await fixture.states(campaign_id))}`,
  );
  await fixture.checkInvariants();
  assert.deepEqual(fixture.crashes(), []);
});

/** Long enough that requests in flight on a busy machine cannot fill it. */
const pause_ms = 6_000;

/** 429 with Retry-After pauses the whole number for that long. */
async function checkThrottledNumber(fixture: ChatDrillFixture): Promise<void> {
  await fixture.stub.setErrors([
    { kind: "throttle", retry_after_seconds: pause_ms / 1_000, nth: [20] },
  ]);
  const phones = phonesOf(60, 1_000);
  const campaign_id = await fixture.createCampaign(phones);
  await fixture.awaitStatus(campaign_id, "completed");
  const log = (await fixture.stub.log()).filter(({ to }) => phones.includes(to));
  const { at, to } = log.find(({ outcome }) => outcome.startsWith("throttle"))!;
  const [, again, ...more] = log.filter((entry) => entry.to === to);
  assert.deepEqual(more, []);
  assert.ok(again!.at >= at + pause_ms - tolerance_ms, "no retry during the pause");
  // Requests in flight when the response arrived may still reach the provider.
  const later = log.filter((entry) => entry.at > at).map((entry) => entry.at);
  const gaps_ms = later.map((each, i) => each - (later[i - 1] ?? at));
  assert.ok(Math.max(...gaps_ms) >= pause_ms / 4, "the whole number pauses");
  assert.equal(log.length, 61);
}

/** The outcome is unknown, although the provider received nothing. */
async function checkCutBeforeBody(fixture: ChatDrillFixture): Promise<void> {
  await fixture.stub.setErrors([{ kind: "cut_before_body", nth: [1] }]);
  const campaign_id = await fixture.createCampaign(phonesOf(1, 2_000));
  await fixture.awaitStatus(campaign_id, "completed");
  const [found] = await readRecipients(fixture, campaign_id);
  const { phone, state, error, error_code } = found!;
  assert.deepEqual([state, error, error_code], ["unresolved", "outcome_unknown", null]);
  assert.deepEqual(await requestsTo(fixture, phone), []);
}

/** An error of a number, business account or template sets a hold until a person or the provider lifts it. */
async function checkHolds(fixture: ChatDrillFixture): Promise<void> {
  const kinds = [
    { code: 131_048, scope: "number", subject_id: fixture.number_id, reason: "sender_restricted" },
    { code: 190, scope: "number", subject_id: fixture.number_id, reason: "auth" },
    {
      code: 132_015,
      scope: "template",
      subject_id: fixture.template_id,
      reason: "template_paused",
    },
  ];
  for (const [index, { code, ...hold }] of kinds.entries()) {
    await fixture.stub.setErrors([{ kind: "refuse", code, nth: [1] }]);
    const campaign_id = await fixture.createCampaign(phonesOf(5, 3_000 + index * 10));
    await eventually(async () => {
      const { body } = await fixture.request("GET", "/api/v1/chat/holds");
      return body.data.length > 0;
    });
    const { body } = await fixture.request("GET", `${campaigns_path}/${campaign_id}`);
    assert.equal(body.status, "paused");
    assert.equal(body.paused_reason, hold.reason);
    const { set_at: _, detail: __, ends_at: ___, ...found } = body.holds[0];
    assert.deepEqual(found, hold);
    if (hold.scope === "template")
      await fixture.stub.control("POST", "template", { name: template_name, status: "APPROVED" });
    else await fixture.request("POST", "/api/v1/chat/holds/lift", hold);
    await fixture.awaitStatus(campaign_id, "completed");
    const phones = (await readRecipients(fixture, campaign_id)).map(({ phone }) => phone);
    const log = (await fixture.stub.log()).filter(({ to }) => phones.includes(to));
    assert.equal(log.length, phones.length + 1, String(code));
  }
}

/** 131063: the campaign's messages take the marketing route from then on. */
async function checkMarketingRoute(fixture: ChatDrillFixture): Promise<void> {
  await fixture.request("POST", `/api/v1/chat/numbers/${fixture.number_id}/sync`);
  await fixture.stub.setErrors([{ kind: "refuse", code: 131_063, nth: [1] }]);
  const phones = phonesOf(1, 4_000);
  const campaign_id = await fixture.createCampaign(phones);
  await fixture.awaitStatus(campaign_id, "completed");
  const receivers = (await requestsTo(fixture, phones[0]!)).map(({ receiver }) => receiver);
  assert.deepEqual(receivers, ["messages", "marketing_messages"]);
}

/** 131049 defers for a day; the campaign is cancelled so that its credit is settled. */
async function checkFrequencyCap(fixture: ChatDrillFixture): Promise<void> {
  await fixture.stub.setErrors([{ kind: "refuse", code: 131_049, nth: [1] }]);
  const campaign_id = await fixture.createCampaign(phonesOf(1, 5_000));
  const isDeferred = async () =>
    (await readRecipients(fixture, campaign_id))[0]!.state === "deferred";
  await eventually(isDeferred);
  const [row] = await fixture.query<{ hours: number; error: string }>(
    "select error, extract(epoch from due_at - now()) / 3600 as hours from chat_recipients where campaign_id = $1",
    [campaign_id],
  );
  assert.equal(row!.error, "frequency_capped");
  assert.ok(row!.hours > 23.9 && row!.hours <= 24);
  await fixture.request("POST", `${campaigns_path}/${campaign_id}/cancel`);
  await fixture.awaitStatus(campaign_id, "cancelled");
  await eventually(async () => (await fixture.states(campaign_id))["cancelled"] === 1);
}

/** 132001 fails the campaign, and its credit is released. */
async function checkFailedCampaign(fixture: ChatDrillFixture): Promise<void> {
  await fixture.stub.setErrors([{ kind: "refuse", code: 132_001 }]);
  const campaign_id = await fixture.createCampaign(phonesOf(200, 6_000));
  await fixture.awaitStatus(campaign_id, "failed");
  await eventually(async () => {
    const states = await fixture.states(campaign_id);
    return Object.keys(states).every((state) => state === "refused" || state === "skipped");
  });
  const { body } = await fixture.request("GET", `${campaigns_path}/${campaign_id}`);
  assert.equal(body.failure, "template_unusable");
  assert.equal(body.failed_count, 200);
  assert.equal(body.credits.released, 200);
  await fixture.stub.setErrors([]);
}
