import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { aiAgentRule } from "../../../test/support/ai-agent-rule.ts";
import { makeExtension } from "../../../test/support/telephony-factory.ts";
import type { RehearsalResults } from "./rehearsal-schema.ts";

let api: TestApi;
let account: TestAccount;
before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  await makeExtension(api.app, account, "101");
});
after(() => api.close());

const agents = "/api/v1/voice/agents";

const agent = {
  greeting: "Hello {{name|there}}",
  rules: [
    aiAgentRule("", "hours", "From nine to five", "go_on"),
    aiAgentRule("", "stop", "You are off the list", "opt_out"),
    aiAgentRule("", "person", "One moment", "transfer"),
  ],
  fields: [
    { key: "city", question: "Which city?" },
    { key: "pin", question: "Which pin?" },
  ],
  closing: "Bye",
  transfer_to: { extension: "101" },
  silence_seconds: 5,
};

async function rehearse(json: object): Promise<RehearsalResults> {
  const answer = await api.send("POST", `${agents}/rehearse`, { token: account.token, json });
  assert.equal(answer.status, 200, answer.text);
  return answer.body as RehearsalResults;
}

/** Returns the facts of one rehearsal with these steps. */
async function factsOf(steps: readonly object[], change: object = {}) {
  const { data } = await rehearse({ ...agent, rehearsals: [{ name: "One", steps }], ...change });
  return data[0]!.actual;
}

test("a rehearsal reports what the AI agent says and keeps, and what becomes of the call", async () => {
  assert.deepEqual(await factsOf([{ say: "Pune" }, { press: "411001#" }]), {
    outcome: "ended",
    says: ["Hello there", "Which city?", "Which pin?", "Bye"],
    fields: { city: "Pune", pin: "411001" },
    opted_out: false,
  });
  assert.deepEqual(await factsOf([{ say: "Please stop" }]), {
    outcome: "ended",
    says: ["Hello there", "Which city?", "You are off the list"],
    fields: {},
    opted_out: true,
  });
  assert.equal((await factsOf([{ say: "a person" }])).outcome, "transferred");
  assert.equal((await factsOf([{ say: "your hours" }])).outcome, "listening");
});

test("time passes only where a rehearsal waits, and keys without # are an answer after their pause", async () => {
  assert.equal((await factsOf([{ wait_seconds: 4 }])).outcome, "listening");
  assert.equal((await factsOf([{ wait_seconds: 5 }])).outcome, "silence");
  const waits = Array.from({ length: 30 }, () => ({ wait_seconds: 120 }));
  const long = await factsOf(waits, { silence_seconds: 120, max_seconds: 100 });
  assert.equal(long.outcome, "too_long");
  const { says, fields } = await factsOf([{ press: "411001" }]);
  assert.deepEqual([says.at(-1), fields], ["Which pin?", { city: "411001" }]);
});

test("a rehearsal fails on each fact that is not as expected, and on no other", async () => {
  const steps = [{ say: "Pune" }];
  const actual = await factsOf(steps);
  const expects = [
    actual,
    null,
    { outcome: null },
    { outcome: "listening" },
    { ...actual, outcome: "ended", opted_out: true },
    { ...actual, says: actual.says.toReversed(), fields: { city: "Pune", pin: "1" } },
  ];
  const rehearsals = expects.map((expect, i) => ({ name: `Number ${i}`, steps, expect }));
  const { passed, data } = await rehearse({ ...agent, rehearsals });
  assert.equal(passed, false);
  assert.deepEqual(
    data.map((one) => [one.passed, one.differences]),
    [
      [true, []],
      [null, []],
      [null, []],
      [true, []],
      [false, ["outcome", "opted_out"]],
      [false, ["says", "fields"]],
    ],
  );
});

test("the texts of a rehearsal have its recipient's values", async () => {
  const rehearsals = [{ name: "Ada", variables: { name: "Ada" }, steps: [] }];
  const { data } = await rehearse({ ...agent, rehearsals });
  assert.deepEqual(data[0]!.transcript, [
    { who: "agent", text: "Hello Ada" },
    { who: "agent", text: "Which city?" },
  ]);
});

test("rehearsals are saved with the AI agent, and a change of something else keeps them", async () => {
  const { token } = account;
  const rehearsals = [{ name: "Hours", steps: [{ say: "hours" }], expect: { opted_out: false } }];
  const json = { ...agent, name: "Rehearsed", rehearsals };
  const created = await api.send("POST", agents, { token, json });
  assert.equal(created.status, 201, created.text);
  const path = `${agents}/${(created.body as { id: number }).id}`;
  await api.send("PATCH", path, { token, json: { greeting: "Good morning" } });
  const read = await api.send("GET", path, { token });
  const saved = read.body as { greeting: string; rehearsals: unknown };
  assert.deepEqual([saved.greeting, saved.rehearsals], ["Good morning", rehearsals]);
  const cleared = await api.send("PATCH", path, { token, json: { rehearsals: [] } });
  assert.deepEqual((cleared.body as typeof saved).rehearsals, []);
});

test("what cannot be rehearsed is refused, with every violation at its field", async () => {
  const { token } = account;
  const json = {
    ...agent,
    driver: "realtime",
    rehearsals: [
      { name: "", steps: [{ press: "1", say: "one" }, {}, { press: "one" }, { wait_seconds: 0 }] },
      { name: "Two", steps: [], expect: { outcome: "sold" } },
    ],
  };
  const answer = await api.send("POST", `${agents}/rehearse`, { token, json });
  assert.equal(answer.status, 422, answer.text);
  const { errors } = answer.body as { errors: readonly { field: string }[] };
  assert.deepEqual(errors.map(({ field }) => field).toSorted(), [
    "driver",
    "driver",
    "rehearsals.0.name",
    "rehearsals.0.steps.0",
    "rehearsals.0.steps.1",
    "rehearsals.0.steps.2.press",
    "rehearsals.0.steps.3.wait_seconds",
    "rehearsals.1.expect.outcome",
  ]);
});
