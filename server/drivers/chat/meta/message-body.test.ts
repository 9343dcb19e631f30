import assert from "node:assert/strict";
import { test } from "node:test";
import { messageBody } from "./message-body.ts";

const sentParameters = (more: { screen?: string; data?: Record<string, unknown> }) => {
  const action = { type: "flow", flow_id: "12", cta: "Book", flow_token: "m-1", ...more } as const;
  const message = {
    kind: "interactive",
    header: null,
    body: "Hello",
    footer: null,
    action,
  } as const;
  const body = messageBody({ message_id: "m-1", to: "919876543210", message, route: "standard" });
  const { flow_message_version, flow_id, flow_cta, flow_token, ...opening } =
    JSON.parse(body).interactive.action.parameters;
  assert.deepEqual(
    [flow_message_version, flow_id, flow_cta, flow_token],
    ["3", "12", "Book", "m-1"],
  );
  return opening;
};

test("a flow with a first screen opens it, with its data unless there are none", () => {
  const data = { city: "Pune" };
  assert.deepEqual(sentParameters({ screen: "FIRST", data }), {
    flow_action: "navigate",
    flow_action_payload: { screen: "FIRST", data },
  });
  for (const empty of [{}, { data: {} }])
    assert.deepEqual(sentParameters({ screen: "FIRST", ...empty }), {
      flow_action: "navigate",
      flow_action_payload: { screen: "FIRST" },
    });
});

test("a flow without a first screen asks the flow's endpoint and sends no payload", () => {
  for (const data of [{}, { data: { city: "Pune" } }])
    assert.deepEqual(sentParameters(data), { flow_action: "data_exchange" });
});
