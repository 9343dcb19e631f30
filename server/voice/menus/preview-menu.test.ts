// A menu that is tried with keys, over HTTP.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { makeAgentGroup } from "../../../test/support/telephony-factory.ts";

let api: TestApi;
let account: TestAccount;
let agent_group_id: number;
before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  agent_group_id = await makeAgentGroup(api.app, account);
});
after(() => api.close());

const say = (text: string) => ({ say: text });
const tryWith = (presses: readonly string[], more: Readonly<Record<string, unknown>> = {}) =>
  api.send("POST", "/api/v1/voice/menus/preview", {
    token: account.token,
    json: {
      start: "main",
      nodes: {
        main: {
          type: "menu",
          prompt: say("Hello {{name|there}}"),
          invalid_prompt: say("Wrong"),
          keys: { "1": "order", "2": "person", "9": "stop" },
          tries: 2,
          otherwise: "bye",
        },
        order: {
          type: "capture",
          prompt: say("Which order?"),
          variable: "order",
          max_digits: 3,
          next: "note",
          otherwise: "bye",
        },
        note: { type: "set_field", field: "last_order", value: "{{order}}", next: "bye" },
        person: { type: "transfer", to: { agent_group_id }, otherwise: "bye" },
        stop: { type: "opt_out", prompt: say("Never again") },
        bye: { type: "hang_up", prompt: say("Bye {{order|now}}") },
      },
      variables: { name: "Ada" },
      presses,
      ...more,
    },
  });

test("keys lead as in a call: digits are captured, fields set, and the path is a call record's", async () => {
  const { status, body } = await tryWith(["1", "wait", "4", "2", "#", "wait"]);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body, {
    node: "bye",
    doing: "ended",
    prompts: [],
    digits: "",
    ended_reason: "menu_ended",
    path: [
      { node: "main", key: null },
      { node: "main", key: "1" },
      { node: "order", key: null },
      { node: "order", key: "42" },
      { node: "note", key: null },
      { node: "bye", key: null },
    ],
    collected: { order: "42" },
    lead_fields: { last_order: "42" },
  });
});

test("what is played has the recipient's values, and a wrong or missing key asks again", async () => {
  const at = async (...presses: readonly string[]) => {
    const { doing, prompts, ended_reason } = (await tryWith(presses)).body as Record<
      string,
      unknown
    >;
    return { doing, said: (prompts as { say: string }[]).map((one) => one.say), ended_reason };
  };
  assert.deepEqual(await at(), { doing: "asking", said: ["Hello Ada"], ended_reason: null });
  assert.deepEqual(await at("7"), {
    doing: "asking",
    said: ["Wrong", "Hello Ada"],
    ended_reason: null,
  });
  assert.deepEqual(await at("wait", "wait", "wait", "wait"), {
    doing: "playing",
    said: ["Bye now"],
    ended_reason: null,
  });
  assert.equal((await at("9", "wait")).ended_reason, "opted_out");
  assert.equal((await at("2")).doing, "transferring");
  assert.equal((await at("2", "wait")).said[0], "Bye now");
});

test("an invalid menu is refused at its nodes, and so is a key that no phone has", async () => {
  const nodes = { main: { type: "play", prompt: say("Hello"), next: "main" } };
  const { status, body } = await tryWith(["A"], { nodes });
  assert.equal(status, 422);
  assert.deepEqual(
    (body.errors as { field: string }[]).map(({ field }) => field),
    ["presses.0", "nodes.main"],
  );
});
