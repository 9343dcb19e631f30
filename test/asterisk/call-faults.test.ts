// Calls outlive the connection to their switch, and end once when the switch itself dies.
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
  fixture.startLeaders({ survey_ms: 30_000, missing_ms: 2_000, recording_ms: 2_000 });
});
after(async () => {
  await fixture.close();
  await line.close();
});

type Report = Awaited<ReturnType<CallClient["reported"]>>;

let customers = 0;
function customer(...conduct: Parameters<typeof farEnd>): string {
  return farEnd(...conduct).replace(/0{3}$/, String(++customers).padStart(3, "0"));
}

async function hangUp({ call_id, campaign_id }: Report, status = "completed"): Promise<Report> {
  assert.equal((await client.ask("POST", `/api/v1/calls/${call_id}/hangup`)).status, 200);
  return client.reported(campaign_id, status);
}

async function isConnected(): Promise<boolean> {
  const { connected_at } = await fixture.app.db.query
    .selectFrom("voice_nodes")
    .select("connected_at")
    .where("id", "=", fixture.node_id)
    .executeTakeFirstOrThrow();
  return connected_at !== null;
}

/** It stands so, or did before a busy machine looked. */
function hasCome(leg: { status: string } | undefined, status: string): boolean {
  const earlier = status === "ringing" ? ["queued"] : ["queued", "ringing"];
  return leg !== undefined && !earlier.includes(leg.status);
}

/** Submits calls, waits until each has come so far, and cuts the line until `meanwhile` has come true. */
async function cutWhile(
  calls: readonly { asked: Record<string, unknown>; leg: number; status: string }[],
  meanwhile: (reports: readonly Report[]) => boolean | Promise<boolean>,
): Promise<readonly number[]> {
  const campaigns = await Promise.all(calls.map(({ asked }) => client.call(asked)));
  const reports = await Promise.all(
    calls.map(async ({ leg, status }, i) => {
      let report: Report;
      await eventually(async () => {
        [report] = await client.reports(campaigns[i]!);
        return hasCome(report.legs[leg - 1], status);
      });
      return report;
    }),
  );
  line.cut();
  await eventually(async () => !(await isConnected()));
  await eventually(() => meanwhile(reports));
  line.mend();
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

test("calls whose legs answer, refuse or leave while the line to the switch is cut go on where they are", async () => {
  const from_number = extensions.answers;
  const [answered, refused, left, lasting] = await cutWhile(
    [
      { asked: { from_number, to_number: customer("answers_late", 3) }, leg: 2, status: "ringing" },
      {
        asked: { from_number: extensions.leaves, to_number: customer("rings_on") },
        leg: 2,
        status: "ringing",
      },
      { asked: { from_number, to_number: customer("hangs_up", 4) }, leg: 2, status: "in-progress" },
      { asked: { from_number, to_number: customer("speaks") }, leg: 2, status: "in-progress" },
    ],
    async ([late, , talk]) => (await isUp(late.call_id, 2)) && hasRecord(talk.call_id, 2),
  );

  const [ringing] = await client.reports(answered!);
  await client.reported(answered!, "in-progress");
  await fixture.talking(client, ringing.call_id, [1, 2]);
  assert.equal((await hangUp(ringing)).ended_by, "api");

  const gone = await client.reported(refused!, "canceled");
  assert.deepEqual([gone.ended_reason, gone.ended_by], ["agent_hung_up", "agent"]);

  const talked = await client.reported(left!, "completed");
  assert.deepEqual([talked.ended_reason, talked.ended_by], ["hung_up", "customer"]);

  const [still] = await client.reports(lasting!);
  assert.equal(still.status, "in-progress");
  await fixture.talking(client, still.call_id, [1, 2]);
  assert.equal((await hangUp(still)).ended_by, "api");
});

test("a call that was asked for while the line is cut is placed once it is mended", async () => {
  line.cut();
  await eventually(async () => !(await isConnected()));
  const asked = { from_number: extensions.answers, to_number: customer("hangs_up", 1) };
  const campaign = await client.call(asked);
  const [waiting] = await client.reports(campaign);
  assert.deepEqual([waiting.status, waiting.legs], ["queued", []]);
  line.mend();
  assert.equal((await client.reported(campaign, "completed")).attempt, 1);
});

test("calls of an Asterisk that is killed end once, as lost, and new ones work", async () => {
  const from_number = extensions.answers;
  const rings = await client.call({ from_number, to_number: customer("rings_on") });
  const agent_rings = await client.call({
    from_number: extensions.rings_on,
    to_number: customer("speaks"),
  });
  const talks = await client.call({ from_number, to_number: customer("speaks") });
  const { call_id } = await client.reported(talks, "in-progress");
  await fixture.talking(client, call_id, [1, 2]);
  await eventually(async () => (await client.reports(rings))[0].legs[1]?.status === "ringing");
  await eventually(
    async () => (await client.reports(agent_rings))[0].legs[0]?.status === "ringing",
  );

  await fixture.restartAsterisk();
  const asked = { from_number, to_number: customer("hangs_up", 1) };
  await client.reported(await client.call(asked), "completed");

  for (const [campaign, status, disposition] of [
    [rings, "failed", "lost"],
    [agent_rings, "failed", "lost"],
    [talks, "completed", "answered"],
  ] as const) {
    const report = await client.reported(campaign, status);
    assert.deepEqual(
      [report.disposition, report.ended_reason, report.ended_by],
      [disposition, "node_lost", "system"],
    );
    assert.equal((await client.reports(campaign)).length, 1);
  }
});

test("after all of this the books are right, and Asterisk holds nothing", () => fixture.checkAll());
