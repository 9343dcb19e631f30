import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../../../test/support/eventually.ts";
import { VoiceError, type VoiceEvent } from "../driver.ts";
import type { AriClient } from "./ari-client.ts";
import { openChannelAliases } from "./channel-aliases.ts";
import { readAriEvent } from "./ari-events.ts";
import { openIncomingCalls } from "./incoming-calls.ts";

const at = new Date("2026-11-02T10:00:00Z");
const channel = {
  id: "1793613600.7",
  name: "PJSIP/own-carrier-0000001a",
  state: "Ring",
  caller: { name: "", number: "+919876543210" },
  dialplan: { app_name: "Stasis", app_data: "trunkline,inbound,8000000001" },
};

test("reports an incoming call of an event and of a snapshot once, with its trunk's endpoint and both numbers", () => {
  const events: VoiceEvent[] = [];
  const client = { app: "trunkline", aliases: openChannelAliases() } as AriClient;
  const incoming = openIncomingCalls(client, (event) => void events.push(event));
  const start = { type: "StasisStart", args: ["inbound", "8000000001"], channel };
  incoming.onAriEvent(readAriEvent(JSON.stringify(start))!, at);
  incoming.onSnapshot([channel], at);
  const call = { channel: channel.id, endpoint: "own-carrier", from: "+919876543210" };
  assert.deepEqual(events, [{ type: "incoming", ...call, to: "8000000001", at }]);
  const dialplan = { app_name: "Stasis", app_data: "another,inbound,8000000001" };
  incoming.onSnapshot([{ ...channel, id: "2", dialplan }], at);
  assert.equal(events.length, 1, "a call of another application");
});

test("refuses a call that an agent dials on the phone, and does not report it", async () => {
  const requests: string[] = [];
  const client = {
    app: "trunkline",
    aliases: openChannelAliases(),
    call: async (method: string, path: string) => {
      requests.push(`${method} ${path}`);
      return { status: 204, body: null };
    },
  } as unknown as AriClient;
  const incoming = openIncomingCalls(client, () => assert.fail("reported"));
  incoming.onAriEvent({ type: "StasisStart", args: ["agent-dial", "102"], channel }, at);
  await eventually(() => requests.length > 0);
  assert.match(requests[0]!, /^DELETE .*channels\/1793613600\.7\?reason_code=17$/);
});

test("refuses a call again, without reporting it again, at the next snapshot that still shows it", async () => {
  const requests: string[] = [];
  const events: VoiceEvent[] = [];
  const client = {
    app: "trunkline",
    aliases: openChannelAliases(),
    call: async (method: string, path: string) => {
      requests.push(`${method} ${path}`);
      return { status: requests.length === 1 ? 500 : 204, body: null };
    },
  } as unknown as AriClient;
  const incoming = openIncomingCalls(client, (event) => void events.push(event));
  incoming.onSnapshot([channel], at);
  await assert.rejects(incoming.refuse(channel.id), VoiceError);
  incoming.onSnapshot([channel], at);
  assert.deepEqual(requests, Array(2).fill("DELETE /channels/1793613600.7?reason_code=17"));
  assert.equal(events.length, 1);
});

test("exchanges the leg's ID and the channel's, so that an answered call is a leg like any other", async () => {
  const requests: string[] = [];
  const aliases = openChannelAliases();
  const client = {
    app: "trunkline",
    aliases,
    call: async (method: string, path: string) => {
      requests.push(`${method} ${aliases.toSwitch(path)}`);
      return { status: 204, body: null };
    },
  } as unknown as AriClient;
  const incoming = openIncomingCalls(client, () => {});
  assert.equal(await incoming.answer(channel.id, "trk-7-8-1"), "answered");
  assert.deepEqual(requests, [
    "POST /channels/1793613600.7/variable?variable=CALL_ID&value=trk-7-8-1",
    "POST /channels/1793613600.7/answer",
  ]);
  for (const [own, real] of [
    [
      "/channels/trk-7-8-1_trunkline/play/trk-7-8-p1_trunkline",
      "/channels/1793613600.7/play/trk-7-8-p1_trunkline",
    ],
    [
      "/bridges/trk-7-8_trunkline/addChannel?channel=trk-7-8-1_trunkline",
      "/bridges/trk-7-8_trunkline/addChannel?channel=1793613600.7",
    ],
    ["/playbacks/trk-7-8-1-ring_trunkline", "/playbacks/trk-7-8-1-ring_trunkline"],
    ["/channels/trk-7-8-2_trunkline", "/channels/trk-7-8-2_trunkline"],
  ] as const)
    assert.equal(aliases.toSwitch(own), real);
  const ended = { type: "ChannelDestroyed", channel, cause: 16 } as const;
  const read = aliases.fromSwitch(ended);
  assert.deepEqual(read, { ...ended, channel: { ...channel, id: "trk-7-8-1_trunkline" } });
  incoming.onAriEvent(read, at);
  assert.equal(aliases.has(channel.id), false);
});

test("does not report an answer after the end, when the caller hangs up at that moment", async () => {
  const aliases = openChannelAliases();
  const ended = { type: "ChannelDestroyed", channel, cause: 16 } as const;
  const client = {
    app: "trunkline",
    aliases,
    call: async (_method: string, path: string) => {
      if (path.endsWith("/answer")) incoming.onAriEvent(aliases.fromSwitch(ended), at);
      return { status: 204, body: null };
    },
  } as unknown as AriClient;
  const incoming = openIncomingCalls(client, () => {});
  assert.equal(await incoming.answer(channel.id, "trk-7-8-1"), "ended");
});
