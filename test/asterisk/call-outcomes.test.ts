// How the far end's response becomes the outcome in the call record.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import {
  extensions,
  openAsteriskFixture,
  type AsteriskFixture,
} from "../support/asterisk-fixture.ts";
import type { CallClient } from "../support/call-client.ts";
import { makeTrunk } from "../support/telephony-factory.ts";
import { farEnd, refusing } from "../support/sipp/outcomes.ts";

let fixture: AsteriskFixture;
let client: CallClient;
/** Its carrier does not respond. */
let cut_off: CallClient;

before(async () => {
  fixture = await openAsteriskFixture();
  const rings = { agent_ring_seconds: 10, customer_ring_seconds: 10 };
  client = await fixture.client(rings);
  cut_off = await fixture.client(rings);
  await makeTrunk(fixture.app, [fixture.node_id], {
    endpoint: "deadtrunk",
    only_account_id: cut_off.account.account_id,
  });
  fixture.startLeaders();
});
after(() => fixture.close());

/** By SIP status: the call record's status and disposition, and the Q.850 cause. */
const refused = {
  486: ["busy", "busy", 17],
  600: ["busy", "busy", 17],
  603: ["busy", "declined", 21],
  403: ["failed", "failed", 21],
  607: ["busy", "declined", 127],
  480: ["no-answer", "no_answer", 19],
  408: ["no-answer", "no_answer", 18],
  404: ["failed", "unallocated", 1],
  410: ["failed", "unallocated", 22],
  484: ["failed", "invalid", 28],
  503: ["failed", "congestion", 34],
  500: ["failed", "failed", 38],
  502: ["failed", "failed", 27],
  488: ["failed", "failed", 58],
} as const;

/** A person who is busy or declines ended the call; otherwise the system did. */
function endedBy(disposition: string, party: "agent" | "customer") {
  return disposition === "busy" || disposition === "declined" ? party : "system";
}

type Reported = Awaited<ReturnType<CallClient["awaitCall"]>>;

async function reportOn(request: Record<string, unknown>, status: string): Promise<Reported> {
  return client.awaitCall(await client.call(request), status);
}

function assertAgentOnly(report: Reported): void {
  assert.deepEqual(
    report.legs.map(({ role }: { role: string }) => role),
    ["agent"],
  );
  assert.equal(report.cost, 0);
}

suite("outcomes on Asterisk", { concurrency: true }, () => {
  for (const [sip, [status, disposition, cause]] of Object.entries(refused)) {
    const number = refusing(Number(sip));
    const wanted = [disposition, cause, Number(sip)];
    const causes = ({ disposition: shown, hangup_cause_q850, sip_status }: Reported) => [
      shown,
      hangup_cause_q850,
      sip_status,
    ];

    test(`a customer's ${sip} is reported as ${disposition}, and only the agent's leg is charged`, async () => {
      const request = { to_number: number, from_number: extensions.answers };
      const report = await reportOn(request, status);
      assert.deepEqual(causes(report), wanted);
      assert.equal(report.ended_reason, `customer_${disposition}`);
      assert.equal(report.ended_by, endedBy(disposition, "customer"));
      const [agent, customer] = report.legs;
      assert.deepEqual(
        [customer.role, customer.status, customer.cause, customer.sip_status],
        ["customer", status, cause, Number(sip)],
      );
      assert.deepEqual([agent.role, agent.status, report.cost], ["agent", "completed", 1]);
    });

    test(`an agent's ${sip} is reported as ${disposition}, and no customer is called`, async () => {
      // One live call per customer: each test has its own.
      const request = { to_number: `9000000${sip}`, from_number: number };
      const report = await reportOn(request, status);
      assert.deepEqual(causes(report), wanted);
      assert.equal(report.ended_reason, `agent_${disposition}`);
      assert.equal(report.ended_by, endedBy(disposition, "agent"));
      assertAgentOnly(report);
      const [{ cause: of_leg, sip_status }] = report.legs;
      assert.deepEqual([of_leg, sip_status], [cause, Number(sip)]);
    });
  }

  for (const [to_number, name, does, status, disposition, cause, sip] of [
    ["9000000010", "busy", "is busy", "busy", "busy", 17, 486],
    ["9000000011", "declines", "declines", "busy", "declined", 21, 603],
    ["9000000012", "unavailable", "is unavailable", "no-answer", "no_answer", 19, 480],
    [
      "9000000013",
      "rings_on",
      "rings until its ring time ends",
      "no-answer",
      "no_answer",
      19,
      null,
    ],
    ["9000000014", "unregistered", "is not registered", "failed", "unreachable", null, null],
  ] as const) {
    test(`an agent's phone that ${does} is reported as ${disposition}, and no customer is called`, async () => {
      const request = { to_number, from_number: extensions[name] };
      const report = await reportOn(request, status);
      assert.deepEqual(
        [report.disposition, report.ended_reason, report.hangup_cause_q850, report.sip_status],
        [disposition, `agent_${disposition}`, cause, sip],
      );
      assertAgentOnly(report);
    });
  }

  test("a customer who does not answer within the ring time is reported as no_answer, without a SIP status", async () => {
    const request = { to_number: farEnd("rings_on"), from_number: extensions.answers };
    const report = await client.awaitCall(await client.call(request), "no-answer");
    assert.deepEqual(
      [report.ended_reason, report.hangup_cause_q850, report.sip_status, report.cost],
      ["customer_no_answer", 19, null, 1],
    );
    // It rings for a part of the five seconds: from the response of the carrier on.
    assert.ok(report.ring_seconds >= 4, report.ring_seconds);
    assert.notEqual(report.ringing_at, null);
  });

  test("a customer behind a carrier that sends no final response is unreachable", async () => {
    const request = { to_number: farEnd("silent"), from_number: extensions.answers };
    const report = await client.awaitCall(await client.call(request), "failed");
    assert.deepEqual(
      [report.disposition, report.ended_reason, report.ringing_at],
      ["unreachable", "customer_unreachable", null],
    );
  });

  test("a customer over a dead trunk is unreachable, and the agent's leg is charged", async () => {
    const request = { to_number: "9000000003", from_number: extensions.answers };
    const report = await cut_off.awaitCall(await cut_off.call(request), "failed");
    assert.deepEqual(
      [report.disposition, report.ended_reason, report.sip_status, report.cost],
      ["unreachable", "customer_unreachable", null, 1],
    );
  });

  test("an agent's phone over a dead trunk is unreachable, and no customer is called", async () => {
    const request = { to_number: "9000000004", from_number: "9000000005" };
    const report = await cut_off.awaitCall(await cut_off.call(request), "failed");
    assert.deepEqual(
      [report.disposition, report.ended_reason],
      ["unreachable", "agent_unreachable"],
    );
    assertAgentOnly(report);
  });
});

test("the invariants hold and Asterisk has no channels or bridges left", () => fixture.checkAll());
