// Two API processes and three workers on one PostgreSQL: the work spreads evenly, and passes on when a worker ends.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../server/lib/clock.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { makeEndpoint } from "../support/callback-factory.ts";
import { openCallbackReceiver, type CallbackReceiver } from "../support/callback-receiver.ts";
import { eventually } from "../support/eventually.ts";
import { stub_number } from "../support/provider-stub/settings.ts";
import { makeNode } from "../support/telephony-factory.ts";
import {
  campaigns_path,
  openChatDrillFixture,
  phonesOf,
  type ChatDrillFixture,
} from "./chat-drill-fixture.ts";
import { startLeadLoad } from "./lead-load.ts";

/** Resources by the role of their leased workers. */
const resources = { chat_sender: 12, voice_node: 6, callbacks: 9 } as const;
/** Enough at the slow rate for all disruptions on a busy machine; then the rate is raised. */
const recipients_of_number = 200;
const slow_per_second = 1;
const fast_per_second = 100;

/** Starting a process takes a minute or two on a busy machine. */
const even_s = 300;

type Held = { readonly role: string; readonly name: string; readonly holder: string };

const heldLeases = (fixture: ChatDrillFixture) =>
  fixture.query<Held>(
    `select split_part(name, ':', 1) as role, name, holder from leases
     where split_part(name, ':', 1) = any ($1) and holder is not null and expires_at > clock_timestamp()`,
    [Object.keys(resources)],
  );

/** Waits until `workers` processes hold the leases of all resources, each role's in even numbers; returns them. */
async function awaitEven(fixture: ChatDrillFixture, workers: number): Promise<readonly Held[]> {
  let held: readonly Held[] = [];
  const isEven = async () => {
    held = await heldLeases(fixture);
    return Object.entries(resources).every(([role, count]) => {
      const of_role = held.filter((lease) => lease.role === role);
      const counts = [...Map.groupBy(of_role, ({ holder }) => holder).values()];
      const sizes = counts.map(({ length }) => length);
      const even = Math.max(...sizes) - Math.min(...sizes) <= 1;
      return of_role.length === count && sizes.length === workers && even;
    });
  };
  await eventually(isEven, even_s).catch(async (error: unknown) => {
    const pools = await fixture.query(
      "select name, holder, expires_at - clock_timestamp() as left from leases where name like 'pool:%'",
    );
    throw new Error(`not even among ${workers}: ${JSON.stringify(held)} ${JSON.stringify(pools)}`, {
      cause: error,
    });
  });
  return held;
}

/** Creates the chat numbers with a campaign each, and the nodes; returns the numbers and the campaigns. */
async function createWork(fixture: ChatDrillFixture) {
  const numbers = [fixture.number_id];
  for (let i = 1; i < resources.chat_sender; i++) {
    const { body } = await fixture.request("POST", "/api/v1/chat/numbers", {
      name: `Drill ${i}`,
      phone_number: `+91 98765 000${String(i).padStart(2, "0")}`,
      driver: "whatsapp",
      provider_phone_number_id: providerId(i),
      business_account_id: stub_number.business_account_id,
      rate_per_second: slow_per_second,
    });
    numbers.push(body.id);
  }
  const campaigns: number[] = [];
  for (const [i, chat_number_id] of numbers.entries()) {
    const phones = phonesOf(recipients_of_number, i * recipients_of_number);
    const { body } = await fixture.request("POST", campaigns_path, {
      name: `Drill ${i}`,
      chat_number_id,
      template_id: fixture.template_id,
      contacts: phones.map((phone_number) => ({ phone_number, variables: { "1": "Ada" } })),
    });
    campaigns.push(body.id);
  }
  return { numbers, campaigns };
}

const providerId = (i: number) => String(BigInt(stub_number.phone_number_id) + BigInt(i));

/** Creates the nodes and the endpoints of the fixture's account, in the database. */
async function createNodesAndEndpoints(
  { database_url, account }: ChatDrillFixture,
  receivers: readonly CallbackReceiver[],
): Promise<void> {
  const db = openDatabase(database_url, openLog("silent", { readable: false }));
  const app = { db, clock: systemClock };
  for (let i = 0; i < resources.voice_node; i++) await makeNode(app);
  for (const { url } of receivers)
    await makeEndpoint(app, account, { url, types: ["lead.created"] });
  await db.close();
}

/** Each endpoint has received every lead, each under one ID. */
function checkCallbacks(receivers: readonly CallbackReceiver[], leads: ReadonlySet<number>): void {
  for (const { received } of receivers) {
    const byLead = Map.groupBy(received, ({ data }) => Number(data.id));
    assert.deepEqual(new Set(byLead.keys()), leads);
    for (const [lead, requests] of byLead)
      assert.equal(
        new Set(requests.map(({ headers }) => headers["webhook-id"])).size,
        1,
        `${lead}`,
      );
  }
}

test("numbers, nodes and endpoints spread evenly over workers that are started, killed and stopped, without a message twice or a lead lost", async () => {
  const numbers_at_stub = Array.from({ length: resources.chat_sender }, (_, i) => ({
    ...stub_number,
    phone_number_id: providerId(i),
  }));
  await using fixture = await openChatDrillFixture({
    rate_per_second: slow_per_second,
    stub: { delay_ms: 500, numbers: numbers_at_stub },
    env: { CALLBACK_ALLOW: "127.0.0.1", CHAT_SETTLE_SECONDS: "5" },
  });
  await using receivers = new AsyncDisposableStack();
  const open = async () => receivers.adopt(await openCallbackReceiver(), (one) => one.close());
  const all = await Promise.all(Array.from({ length: resources.callbacks }, open));
  await createNodesAndEndpoints(fixture, all);
  const apis = [fixture.api, await fixture.startApi()];
  const urls = apis.map(({ url }) => url);
  // Slow: each lead is delivered to every endpoint.
  const load = startLeadLoad(fixture.account, () => urls, { clients: 2, pause_ms: 400 });
  const { numbers, campaigns } = await createWork(fixture);
  const began_ms = performance.now();
  const took: string[] = [];
  const measure = async <T>(what: string, work: Promise<T>): Promise<T> => {
    const from_ms = performance.now();
    const answer = await work;
    took.push(`${what} ${((performance.now() - from_ms) / 1_000).toFixed(1)} s`);
    return answer;
  };

  const [first, second] = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
  await measure("two workers even after", awaitEven(fixture, 2));
  const third = await fixture.startWorker();
  await measure("a third has its share after", awaitEven(fixture, 3));

  first.kill("SIGKILL");
  await first.ended();
  const [row] = await fixture.query<{ late: number }>(
    `select count(*)::int as late from leases where holder is not null and expires_at > clock_timestamp() + interval '10 s'`,
  );
  // So all that it held is free within 10 s of its end.
  assert.equal(row!.late, 0);
  await measure("a killed worker's leases passed on after", awaitEven(fixture, 2));

  const fourth = await fixture.startWorker();
  const before_stop = await awaitEven(fixture, 3);
  third.kill("SIGTERM");
  const passing = measure("a stopped worker's leases passed on after", awaitEven(fixture, 2));
  assert.equal(await third.ended(), 0, third.output());
  const at_end = new Set(
    (await fixture.query<Held>("select name, holder from leases where holder is not null")).map(
      ({ name, holder }) => `${name} ${holder}`,
    ),
  );
  const after_stop = new Set((await passing).map(({ holder }) => holder));
  // Released, not expired: each of its leases had another holder or none when it ended.
  const of_stopped = before_stop.filter(({ holder }) => !after_stop.has(holder));
  assert.ok(of_stopped.length > 0);
  for (const { name, holder } of of_stopped) assert.ok(!at_end.has(`${name} ${holder}`), name);

  // Nothing starves: every node is connected, every campaign completes, every endpoint receives every lead.
  await eventually(async () => {
    const nodes = await fixture.query("select from voice_nodes where connected_at is not null");
    return nodes.length === resources.voice_node;
  });
  await load.stop();
  for (const id of numbers)
    await fixture.request("PATCH", `/api/v1/chat/numbers/${id}`, {
      rate_per_second: fast_per_second,
    });
  for (const id of campaigns) await fixture.awaitStatus(id, "completed");
  await fixture.awaitWebhooks();
  await eventually(async () => {
    const left = await fixture.query(
      `select from events where seq is null union all
       select from callback_deliveries where state = 'pending' limit 1`,
    );
    return left.length === 0;
  });
  const seconds = ((performance.now() - began_ms) / 1_000).toFixed(1);
  console.log(`${took.join(", ")}; ${seconds} s, ${load.acknowledged()} leads`);
  await fixture.checkInvariants();
  await load.checkInvariants(fixture.database_url);
  const leads = await fixture.query<{ id: string }>("select id from leads");
  checkCallbacks(all, new Set(leads.map(({ id }) => Number(id))));
  assert.deepEqual(fixture.crashes(), []);
  assert.ok(fourth.isAlive() && second.isAlive());
});
