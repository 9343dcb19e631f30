// Calls survive a lost connection to their switch, and end once when the switch is killed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  channelIn,
  extensions,
  openAsteriskFixture,
  type AsteriskFixture,
} from "../support/asterisk-fixture.ts";
import type { CallClient } from "../support/call-client.ts";
import { openInterruptibleProxy, type InterruptibleProxy } from "../support/interruptible-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { farEnd } from "../support/sipp/outcomes.ts";

let fixture: AsteriskFixture;
let client: CallClient;
let line: InterruptibleProxy;

before(async () => {
  fixture = await openAsteriskFixture({
    async through(ari_url) {
      const url = new URL(ari_url);
      line = await openInterruptibleProxy(Number(url.port));
      url.port = String(line.port);
      return url.toString();
    },
  });
  client = await fixture.client();
  fixture.startLeaders({
    reconcile_ms: 30_000,
    missing_ms: 2_000,
    recording_ms: 2_000,
    lost_ms: 60_000,
  });
});
after(async () => {
  await fixture.close();
  await line.close();
});

type Report = Awaited<ReturnType<CallClient["awaitCall"]>>;

let customers = 0;
function customer(...behavior: Parameters<typeof farEnd>): string {
  return farEnd(...behavior).replace(/0{3}$/, String(++customers).padStart(3, "0"));
}

async function hangUp({ call_id, campaign_id }: Report, status = "completed"): Promise<Report> {
  assert.equal((await client.ask("POST", `/api/v1/calls/${call_id}/hangup`)).status, 200);
  return client.awaitCall(campaign_id, status);
}

async function isConnected(): Promise<boolean> {
  const { connected_at } = await fixture.app.db.query
    .selectFrom("voice_nodes")
    .select("connected_at")
    .where("id", "=", fixture.node_id)
    .executeTakeFirstOrThrow();
  return connected_at !== null;
}

/** Returns whether the leg has reached a status; on a busy machine it may already be past it. */
function hasReached(leg: { status: string } | undefined, status: string): boolean {
  const earlier = status === "ringing" ? ["queued"] : ["queued", "ringing"];
  return leg !== undefined && !earlier.includes(leg.status);
}

/** Submits calls, waits until each reaches its status, and cuts the connection until `meanwhile` is true. */
async function cutWhile(
  calls: readonly { request: Record<string, unknown>; leg: number; status: string }[],
  meanwhile: (reports: readonly Report[]) => boolean | Promise<boolean>,
): Promise<readonly number[]> {
  const campaigns = await Promise.all(calls.map(({ request }) => client.call(request)));
  const reports = await Promise.all(
    calls.map(async ({ leg, status }, i) => {
      let report: Report;
      await eventually(async () => {
        [report] = await client.callRecords(campaigns[i]!);
        return hasReached(report.legs[leg - 1], status);
      });
      return report;
    }),
  );
  line.cut();
  await eventually(async () => !(await isConnected()));
  await eventually(() => meanwhile(reports));
  line.restore();
  await eventually(isConnected);
  return campaigns;
}

async function isUp(callId: number, leg: number): Promise<boolean> {
  const answer = await fixture.ari("GET", `/channels/${channelIn(client, callId, leg)}`);
  return answer.status === 200 && ((await answer.json()) as { state: string }).state === "Up";
}

function hasRecord(callId: number, leg: number): boolean {
  return fixture
    .records(client, callId)
    .some(({ channel }) => channel === channelIn(client, callId, leg));
}

test("calls whose legs answer, refuse or hang up while the connection to the switch is lost continue correctly", async () => {
  const from_number = extensions.answers;
  const [answered, refused, hung_up, lasting] = await cutWhile(
    [
      {
        request: { from_number, to_number: customer("answers_late", 3) },
        leg: 2,
        status: "ringing",
      },
      {
        request: { from_number: extensions.hangs_up, to_number: customer("rings_on") },
        leg: 2,
        status: "ringing",
      },
      {
        request: { from_number, to_number: customer("hangs_up", 4) },
        leg: 2,
        status: "in-progress",
      },
      { request: { from_number, to_number: customer("speaks") }, leg: 2, status: "in-progress" },
    ],
    async ([late, , talk]) => (await isUp(late.call_id, 2)) && hasRecord(talk.call_id, 2),
  );

  const [ringing] = await client.callRecords(answered!);
  await client.awaitCall(answered!, "in-progress");
  await fixture.talking(client, ringing.call_id, [1, 2]);
  assert.equal((await hangUp(ringing)).ended_by, "api");

  const gone = await client.awaitCall(refused!, "canceled");
  assert.deepEqual([gone.ended_reason, gone.ended_by], ["agent_hung_up", "agent"]);

  const talked = await client.awaitCall(hung_up!, "completed");
  assert.deepEqual([talked.ended_reason, talked.ended_by], ["hung_up", "customer"]);

  const [still] = await client.callRecords(lasting!);
  assert.equal(still.status, "in-progress");
  await fixture.talking(client, still.call_id, [1, 2]);
  assert.equal((await hangUp(still)).ended_by, "api");
});

test("a call requested while the connection is lost is placed once it is restored", async () => {
  line.cut();
  await eventually(async () => !(await isConnected()));
  const request = { from_number: extensions.answers, to_number: customer("hangs_up", 1) };
  const campaign = await client.call(request);
  const [waiting] = await client.callRecords(campaign);
  assert.deepEqual([waiting.status, waiting.legs], ["queued", []]);
  line.restore();
  assert.equal((await client.awaitCall(campaign, "completed")).attempt, 1);
});

test("calls of a killed Asterisk end once, as lost, and new calls work", async () => {
  const from_number = extensions.answers;
  const rings = await client.call({ from_number, to_number: customer("rings_on") });
  const agent_rings = await client.call({
    from_number: extensions.rings_on,
    to_number: customer("speaks"),
  });
  const talks = await client.call({ from_number, to_number: customer("speaks") });
  const { call_id } = await client.awaitCall(talks, "in-progress");
  await fixture.talking(client, call_id, [1, 2]);
  await eventually(async () => (await client.callRecords(rings))[0].legs[1]?.status === "ringing");
  await eventually(
    async () => (await client.callRecords(agent_rings))[0].legs[0]?.status === "ringing",
  );

  await fixture.restartAsterisk();
  const request = { from_number, to_number: customer("hangs_up", 1) };
  await client.awaitCall(await client.call(request), "completed");

  for (const [campaign, status, disposition] of [
    [rings, "failed", "lost"],
    [agent_rings, "failed", "lost"],
    [talks, "completed", "answered"],
  ] as const) {
    const report = await client.awaitCall(campaign, status);
    assert.deepEqual(
      [report.disposition, report.ended_reason, report.ended_by],
      [disposition, "node_lost", "system"],
    );
    assert.equal((await client.callRecords(campaign)).length, 1);
  }
});

test("the invariants hold and Asterisk has no channels or bridges left", () => fixture.checkAll());
