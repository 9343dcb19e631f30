// The foundation of the Asterisk tests: Asterisk starts, calls through it are real calls, and the simulated
// far ends behave as specified.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse } from "csv-parse/sync";
import { startAsterisk, type RunningAsterisk } from "../../scripts/asterisk/start-asterisk.ts";
import { eventually } from "../support/eventually.ts";
import { rtpCounts, startCarrier, startPhones, type Sipp } from "../support/sipp.ts";
import { farEnd, refusals, refusing } from "../support/sipp/outcomes.ts";

const run_dir = mkdtempSync(join(tmpdir(), "trunkline-asterisk-"));
let asterisk: RunningAsterisk;
let far_ends: Sipp[] = [];
let events: Events;

before(async () => {
  asterisk = await startAsterisk({ run_dir });
  far_ends = [await startCarrier(asterisk), await startPhones(asterisk)];
  events = await openEvents();
});

after(async () => {
  events.close();
  await Promise.all([asterisk.stop(), ...far_ends.map((far_end) => far_end.stop())]);
  rmSync(run_dir, { recursive: true });
});

type ChannelEvent = {
  readonly type: string;
  readonly channel?: { readonly id: string };
  readonly digit?: string;
  readonly cause?: number;
  readonly tech_cause?: number;
};
type Events = { of(channel_id: string, type: string): ChannelEvent[]; close(): void };

async function openEvents(): Promise<Events> {
  const { ari_user, ari_password, app, ports } = asterisk;
  const query = `app=${app}&subscribeAll=true&api_key=${ari_user}:${ari_password}`;
  const socket = new WebSocket(`ws://127.0.0.1:${ports.http}/ari/events?${query}`);
  const all: ChannelEvent[] = [];
  socket.addEventListener("message", ({ data }) => all.push(JSON.parse(data)));
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", reject);
  });
  return {
    of: (channel_id, type) =>
      all.filter((event) => event.channel?.id === channel_id && event.type === type),
    close: () => socket.close(),
  };
}

async function ari(method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(asterisk.ari_url + path, {
    method,
    headers: {
      authorization: `Basic ${btoa(`${asterisk.ari_user}:${asterisk.ari_password}`)}`,
      "content-type": "application/json",
      connection: "close",
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function originate(channel_id: string, endpoint: string): Promise<number> {
  const query = new URLSearchParams({ endpoint, app: asterisk.app, timeout: "10" });
  const body = { variables: { CALL_ID: `call of ${channel_id}` } };
  const response = await ari("POST", `/channels/${channel_id}?${query.toString()}`, body);
  await response.body?.cancel();
  return response.status;
}

async function hangUp(channel_id: string): Promise<void> {
  await (await ari("DELETE", `/channels/${channel_id}`)).body?.cancel();
  await ended(channel_id);
}

async function answered(channel_id: string): Promise<void> {
  await eventually(() => events.of(channel_id, "StasisStart").length === 1);
}

async function ended(channel_id: string): Promise<ChannelEvent> {
  await eventually(() => events.of(channel_id, "ChannelDestroyed").length === 1);
  return events.of(channel_id, "ChannelDestroyed")[0]!;
}

const columns = "id start answer end billsec disposition cause tech_cause call_id".split(" ");
type CallRecord = {
  readonly id: string;
  readonly start: string;
  readonly answer: string;
  readonly end: string;
  readonly billsec: string;
  readonly disposition: string;
  readonly cause: string;
  readonly tech_cause: string;
  readonly call_id: string;
};

/** Waits for the CDR of an ended channel and returns it. */
async function recordOf(channel_id: string): Promise<CallRecord> {
  const find = () => {
    const text = existsSync(asterisk.cdr_path) ? readFileSync(asterisk.cdr_path, "utf8") : "";
    return parse<CallRecord>(text, { columns }).filter(({ id }) => id === channel_id);
  };
  await eventually(() => find().length > 0);
  assert.equal(find().length, 1);
  return find()[0]!;
}

test("a call to a customer is answered, carries audio both ways and has a CDR", async () => {
  assert.equal(await originate("answered.", "PJSIP/919876543210@trunk"), 200);
  await answered("answered.");
  await ari("POST", `/channels/answered./play?media=sound:${asterisk.sounds_dir}/clip1`);
  await eventually(async () => {
    const { received, sent } = await rtpCounts(asterisk, "answered.");
    return received > 25 && sent > 25;
  });
  await hangUp("answered.");
  const record = await recordOf("answered.");
  assert.equal(record.disposition, "ANSWERED");
  assert.equal(record.cause, "16");
  assert.equal(record.call_id, "call of answered.");
  assert.ok(Number(record.start) < Number(record.answer));
  const talked = Number(record.end) - Number(record.answer);
  assert.ok(Math.abs(talked - Number(record.billsec)) < 0.001 && talked > 0.4);
});

test("an agent and a customer in a bridge exchange audio, and each has one complete CDR", async () => {
  await originate("agent.", "PJSIP/agent1");
  await originate("customer.", `PJSIP/91${farEnd("speaks")}@trunk`);
  await answered("agent.");
  await answered("customer.");
  await ari("POST", "/bridges/both?type=mixing,dtmf_events");
  await ari("POST", "/bridges/both/addChannel?channel=agent.,customer.");
  await eventually(async () => {
    const [agent, customer] = [
      await rtpCounts(asterisk, "agent."),
      await rtpCounts(asterisk, "customer."),
    ];
    return [agent.received, agent.sent, customer.received, customer.sent].every((n) => n > 25);
  });
  await hangUp("customer.");
  await hangUp("agent.");
  await ari("DELETE", "/bridges/both");
  for (const id of ["agent.", "customer."]) {
    const { disposition, answer, end, billsec } = await recordOf(id);
    assert.equal(disposition, "ANSWERED");
    assert.ok(Math.abs(Number(end) - Number(answer) - Number(billsec)) < 0.001);
  }
});

test("every refusal by a carrier is reported with its SIP status", async () => {
  for (const { status } of refusals)
    assert.equal(await originate(`refused-${status}.`, `PJSIP/91${refusing(status)}@trunk`), 200);
  for (const { status, reason } of refusals) {
    assert.equal((await ended(`refused-${status}.`)).tech_cause, status);
    const { answer, tech_cause } = await recordOf(`refused-${status}.`);
    assert.deepEqual([answer, tech_cause], ["0.000000", `SIP ${status} ${reason}`]);
  }
});

test("the far ends press the digits that their numbers encode", async () => {
  const pressing = {
    "three.": [farEnd("presses_1_9_hash"), "19#"],
    "info.": [farEnd("presses_by_info", 1, "7"), "7"],
    "one.": [farEnd("presses", 1, "4"), "4"],
    "both.": [farEnd("presses_star_and", 1, "2"), "*2"],
    "star.": [farEnd("presses_star", 0), "*"],
    "hash.": [farEnd("presses_hash", 0), "#"],
  } as const;
  for (const [id, [number]] of Object.entries(pressing))
    await originate(id, `PJSIP/91${number}@trunk`);
  await originate("phone.", "PJSIP/agent-ends-call");
  const digitsOf = (id: string) =>
    events
      .of(id, "ChannelDtmfReceived")
      .map(({ digit }) => digit)
      .join("");
  for (const [id, [, digits]] of Object.entries(pressing)) {
    await eventually(() => digitsOf(id).length >= digits.length);
    assert.equal(digitsOf(id), digits, id);
    await hangUp(id);
  }
  await eventually(() => digitsOf("phone.") === "*1");
  await hangUp("phone.");
});

test("the far ends hang up, answer late and ring as their numbers encode", async () => {
  await originate("hangs-up.", `PJSIP/91${farEnd("hangs_up", 0)}@trunk`);
  await originate("hangs-up-with-reason.", `PJSIP/91${farEnd("hangs_up_with_reason", 0)}@trunk`);
  await originate("late.", `PJSIP/91${farEnd("answers_late", 1)}@trunk`);
  await originate("early.", `PJSIP/91${farEnd("early_media")}@trunk`);
  await originate("rings.", `PJSIP/91${farEnd("rings_on")}@trunk`);
  assert.equal((await ended("hangs-up.")).cause, 0);
  assert.equal((await ended("hangs-up-with-reason.")).cause, 16);
  for (const id of ["late.", "early."]) {
    await answered(id);
    await hangUp(id);
    const { start, answer } = await recordOf(id);
    assert.ok(Number(answer) - Number(start) > 0.9);
  }
  await hangUp("rings.");
  assert.equal((await recordOf("rings.")).answer, "0.000000");
});

test("a phone that is not registered cannot be called", async () => {
  assert.equal(await originate("unregistered.", "PJSIP/agent-unregistered"), 500);
});

test("a killed Asterisk restarts in its folder and accepts calls", async () => {
  const { ari_url, ari_password, pid } = asterisk;
  events.close();
  await asterisk.kill();
  await assert.rejects(ari("GET", "/asterisk/ping"));
  asterisk = await startAsterisk({ run_dir });
  assert.deepEqual([asterisk.ari_url, asterisk.ari_password], [ari_url, ari_password]);
  assert.notEqual(asterisk.pid, pid);
  events = await openEvents();
  await originate("again.", "PJSIP/919876543210@trunk");
  await answered("again.");
  await hangUp("again.");
  assert.equal((await recordOf("again.")).disposition, "ANSWERED");
});

test("a failed start reports the end of Asterisk's log", async () => {
  const other = mkdtempSync(join(tmpdir(), "trunkline-asterisk-"));
  try {
    await assert.rejects(
      startAsterisk({ run_dir: other, ports: { http: asterisk.ports.http } }),
      /Asterisk .*the end of its log/,
    );
  } finally {
    rmSync(other, { recursive: true });
  }
});
