import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeAgentGroup,
  makeCallingAccount,
  makeExtension,
  makeSandboxTrunk,
} from "../../../../test/support/telephony-factory.ts";
import { makeCall } from "../../../../test/support/call-factory.ts";
import { callValue, unansweredLegs } from "../../../../test/support/call-values.ts";
import { testClock } from "../../../../test/support/clock.ts";
import { cloneDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import type { TestAccount } from "../../../../test/support/account-factory.ts";
import { openDatabase, type Database, type Executor } from "../../../lib/database/database.ts";
import { openLog } from "../../../lib/log.ts";
import type { Call } from "../../state-machine/call.ts";
import type { TransferTarget } from "../../state-machine/menu.ts";
import { initial_position } from "../../state-machine/transitions/voice-position.ts";
import { setAway } from "../../../telephony/away-agents.ts";
import { chooseAgents, chooseTransferAgent } from "./choose-agents.ts";
import { findExtension, findExtensionNumber } from "./find-extension.ts";
import type { TrunkLine } from "../dialer/trunk-line.ts";

const clock = testClock();
const noon = new Date("2026-03-01T12:00:00Z");
const earlier = (minutes: number) => new Date(noon.getTime() - minutes * 60_000);
const trunk: TrunkLine = {
  id: 5,
  endpoint: "carrier",
  number_format: "national",
  number_prefix: "0",
  destinations: ["*"],
};

let database: TestDatabase;
let db: Database;
let place: { node_id: number; trunk_id: number };

before(async () => {
  clock.set(noon);
  database = await cloneDatabase();
  db = openDatabase(database.url, openLog("silent", { readable: false }));
  place = await makeSandboxTrunk({ db, clock });
});
after(async () => {
  await db.close();
  await database.drop();
});

const account = () => makeCallingAccount({ db, clock });
const group = (of: TestAccount, ...numbers: string[]) => makeAgentGroup({ db, clock }, of, numbers);

/** Makes these agents busy with another call. */
const busy = (of: TestAccount, ...numbers: string[]) =>
  makeCall({ db, clock }, of, {
    place,
    call: { stage: "talking" },
    legs: numbers.map((number) => ({ number, state: "answered" })),
  });

/** Gives these agents ended calls, one after the other. */
async function called(of: TestAccount, minutesAgo: Record<string, number>): Promise<void> {
  const legs = Object.entries(minutesAgo).map(([number, minutes]) => ({
    number,
    initiated_at: earlier(minutes + 1),
    ended_at: earlier(minutes),
  }));
  await makeCall({ db, clock }, of, { place, call: { stage: "ended" }, legs });
}

type Choice = Parameters<typeof callValue>[0] & {
  readonly driver?: "sandbox" | "asterisk";
  readonly again?: string;
};

async function agents(of: TestAccount, { driver = "sandbox", again, ...choice }: Choice) {
  const call = callValue({ account_id: of.account_id, ...choice });
  return chooseAgents(db.query, call, trunk, driver, again ?? null);
}
const numbers = async (of: TestAccount, choice: Choice): Promise<string[]> =>
  (await agents(of, choice)).map(({ number }) => number);

/** A call whose agents did not answer, with a policy and its group. */
const afterwards = (
  policy_applied: Call["click_to_call"]["policy_applied"],
  group_id: number | null,
  ...rung: string[]
): Choice => ({
  click_to_call: { policy_applied, agent_not_pick_group_id: group_id },
  legs: unansweredLegs(rung.length > 0 ? rung : ["101"]),
});

test("rings a phone over the trunk in the carrier's format, without a query", async () => {
  const no_database = { query: () => assert.fail("a query") } as unknown as Executor;
  const call = callValue({ from_number: "919811111111" });
  assert.deepEqual(await chooseAgents(no_database, call, trunk, "asterisk", null), [
    {
      number: "919811111111",
      target: { kind: "trunk", endpoint: "carrier", number: "09811111111" },
    },
  ]);
});

test("rings an extension at its endpoint; one that is not configured exists only in the sandbox", async () => {
  const own = await account();
  await makeExtension({ db, clock }, own, "101", { endpoint: "phone-one" });
  await makeExtension({ db, clock }, await account(), "102");
  const target = { kind: "extension", endpoint: "phone-one", number: "101" };
  assert.deepEqual(await agents(own, { driver: "asterisk" }), [{ number: "101", target }]);
  assert.deepEqual(await agents(own, { from_number: "102", driver: "asterisk" }), []);
  assert.deepEqual(await agents(own, { from_number: "102" }), [
    { number: "102", target: { kind: "extension", endpoint: "102", number: "102" } },
  ]);
});

test("rings the named agent of a group if free, else the longest idle member, else none", async () => {
  const own = await account();
  const from_group_id = await group(own, "201", "202", "203");
  const click_to_call = { from_group_id };
  await called(own, { "201": 5, "202": 30, "203": 10 });
  assert.deepEqual(await numbers(own, { from_number: "203", click_to_call }), ["203"]);
  assert.deepEqual(await numbers(own, { from_number: "999", click_to_call }), ["202"]);
  await busy(own, "203", "202");
  assert.deepEqual(await numbers(own, { from_number: "203", click_to_call }), ["201"]);
  await busy(own, "201");
  assert.deepEqual(await numbers(own, { from_number: "203", click_to_call }), []);
});

test("next_in_group rings the members in order, skipping those who were rung or are on a call", async () => {
  const own = await account();
  const id = await group(own, "203", "202", "201");
  assert.deepEqual(await numbers(own, afterwards("next_in_group", id)), ["203"]);
  assert.deepEqual(await numbers(own, afterwards("next_in_group", id, "101", "203")), ["202"]);
  await busy(own, "202");
  assert.deepEqual(await numbers(own, afterwards("next_in_group", id, "101", "203")), ["201"]);
  const all = afterwards("next_in_group", id, "101", "203", "201");
  assert.deepEqual(await numbers(own, all), []);
});

test("rings a member of two groups once, and ignores calls of other accounts", async () => {
  const [own, other] = [await account(), await account()];
  const from_group_id = await group(own, "101", "102");
  const agent_not_pick_group_id = await group(own, "101", "103");
  await busy(other, "103");
  const click_to_call = {
    from_group_id,
    agent_not_pick_group_id,
    policy_applied: "next_in_group",
  } as const;
  const legs = unansweredLegs(["101"]);
  assert.deepEqual(await numbers(own, { click_to_call, legs }), ["103"]);
  assert.deepEqual(await numbers(other, { click_to_call, legs }), [], "a group of another account");
});

test("an agent who is away is rung by no group until back, but alone and by other accounts", async () => {
  const [own, other] = [await account(), await account()];
  const id = await group(own, "201", "919811111111", "202");
  const theirs = await group(other, "201");
  const set = (away: boolean) => {
    const actor = {
      account_id: own.account_id,
      user_id: own.owner_id,
      token_id: null,
      request_id: "req_test",
    };
    return db.query
      .transaction()
      .execute((tx) => setAway(tx, actor, ["201", "919811111111"], away, noon));
  };
  assert.deepEqual(await set(true), { away_since: noon.toISOString() });
  await set(true);
  for (const policy of ["next_in_group", "ring_all", "longest_idle", "round_robin"] as const)
    assert.deepEqual(await numbers(own, afterwards(policy, id)), ["202"], policy);
  assert.deepEqual(await numbers(own, { from_number: "201" }), ["201"]);
  assert.deepEqual(await numbers(other, afterwards("next_in_group", theirs)), ["201"]);
  assert.deepEqual(await set(false), { away_since: null });
  assert.deepEqual(await numbers(own, afterwards("next_in_group", id)), ["201"]);
});

test("ring_all rings every free member at once, at most 20 agents of one call", async () => {
  const own = await account();
  const few = await group(own, "201", "202", "919811111111", "203");
  await busy(own, "202");
  const rung = await agents(own, afterwards("ring_all", few));
  assert.deepEqual(
    rung.map(({ number, target }) => [number, target.kind]),
    [
      ["201", "extension"],
      ["919811111111", "trunk"],
      ["203", "extension"],
    ],
  );
  const many = await group(own, ...Array.from({ length: 30 }, (_, i) => `${300 + i}`));
  assert.equal((await agents(own, afterwards("ring_all", many, "101", "102"))).length, 18);
  const twenty = Array.from({ length: 20 }, (_, i) => `${300 + i}`);
  assert.deepEqual(await numbers(own, afterwards("ring_all", many, ...twenty)), []);
  assert.deepEqual(
    await numbers(own, { ...afterwards("ring_all", many, ...twenty), again: "300" }),
    [],
  );
});

test("skips members without an endpoint on an Asterisk", async () => {
  const own = await account();
  await makeExtension({ db, clock }, own, "202", { endpoint: "two" });
  const id = await group(own, "201", "202", "919811111111");
  const choice = { ...afterwards("ring_all", id), driver: "asterisk" } as const;
  assert.deepEqual(
    (await agents(own, choice)).map(({ target }) => target.endpoint),
    ["two", "carrier"],
  );
});

test("round_robin continues from call to call, wraps around and skips members on a call", async () => {
  const own = await account();
  const id = await group(own, "201", "202", "203");
  const next = () => numbers(own, afterwards("round_robin", id));
  assert.deepEqual([await next(), await next()].flat(), ["201", "202"]);
  await busy(own, "203");
  assert.deepEqual([await next(), await next()].flat(), ["201", "202"]);
  assert.deepEqual(await numbers(own, afterwards("round_robin", id, "201")), ["202"]);
  assert.deepEqual(await numbers(own, afterwards("round_robin", id, "201", "202")), []);
});

test("concurrent round_robin calls ring different members", async () => {
  const own = await account();
  const id = await group(own, "201", "202", "203", "204");
  const choice = Array.from({ length: 4 }, () => numbers(own, afterwards("round_robin", id)));
  assert.deepEqual((await Promise.all(choice)).flat().toSorted(), ["201", "202", "203", "204"]);
});

test("round_robin starts over when its last member was removed", async () => {
  const own = await account();
  const id = await group(own, "201", "202");
  assert.deepEqual(await numbers(own, afterwards("round_robin", id)), ["201"]);
  await db.query
    .deleteFrom("agent_group_members")
    .where("account_id", "=", own.account_id)
    .where("number", "=", "201")
    .execute();
  assert.deepEqual(await numbers(own, afterwards("round_robin", id)), ["202"]);
});

test("longest_idle rings members who never had a call, then the one whose last call ended first", async () => {
  const own = await account();
  const id = await group(own, "201", "202", "203", "204");
  await called(own, { "201": 60, "202": 30, "203": 40 });
  await called(own, { "201": 5 });
  const choice = (...rung: string[]) =>
    numbers(own, afterwards("longest_idle", id, "101", ...rung));
  assert.deepEqual(await choice(), ["204"]);
  assert.deepEqual(await choice("204"), ["203"]);
  assert.deepEqual(await choice("204", "203"), ["202"]);
  await busy(own, "202");
  assert.deepEqual(await choice("204", "203"), ["201"]);
});

test("retry_agent rings the same agent as often as requested, in the first attempt only; legs that were never placed do not count", async () => {
  const own = await account();
  const click_to_call = { policy_applied: "retry_agent", agent_retry_count: 2 } as const;
  const rung = (count: number) => unansweredLegs(Array.from({ length: count }, () => "101"));
  assert.deepEqual(await numbers(own, { click_to_call, legs: rung(1) }), ["101"]);
  assert.deepEqual(await numbers(own, { click_to_call, legs: rung(2) }), ["101"]);
  assert.deepEqual(await numbers(own, { click_to_call, legs: rung(3) }), []);
  assert.deepEqual(await numbers(own, { click_to_call, legs: rung(1), attempt: 2 }), []);
  const unplaced = unansweredLegs(["101", "101"], { outcome: "unplaced" });
  assert.deepEqual(await numbers(own, { click_to_call, legs: [...unplaced, ...rung(2)] }), ["101"]);
});

test("chooses no further agent on hangup, or without a group", async () => {
  const own = await account();
  const id = await group(own, "201");
  assert.deepEqual(await numbers(own, afterwards("hangup", id)), []);
  assert.deepEqual(await numbers(own, afterwards("next_in_group", null)), []);
  assert.deepEqual(await numbers(own, afterwards("round_robin", 999_999_999)), []);
});

test("a caller who comes to a transfer again gets the agents who were rung for an earlier one, up to 20 legs of the call", async () => {
  const own = await account();
  const agent_group_id = await group(own, "231", "232");
  const next = async (to: TransferTarget, rung: readonly string[], legs_before: number) => {
    const position = { ...initial_position, doing: "transferring", legs_before } as const;
    const legs = unansweredLegs(rung, { role: "transfer" });
    const call = callValue({ account_id: own.account_id, legs, position });
    return (await chooseTransferAgent(db.query, call, to, trunk, "sandbox"))?.number ?? null;
  };
  const both = ["231", "232"];
  assert.equal(await next({ agent_group_id }, both, 0), null);
  assert.equal(await next({ agent_group_id }, both, 2), "231");
  assert.equal(await next({ agent_group_id }, [...both, "231"], 2), "232");
  assert.equal(await next({ extension: "231" }, ["231"], 0), null);
  assert.equal(await next({ extension: "231" }, ["231"], 1), "231");
  const twenty = Array.from({ length: 20 }, () => "231");
  assert.equal(await next({ agent_group_id }, twenty, 20), null);
});

test("dials the same agent again when the leg was never placed", async () => {
  const own = await account();
  const choice = { ...afterwards("ring_all", await group(own, "201")), again: "101" };
  assert.deepEqual(await numbers(own, choice), ["101"]);
  assert.deepEqual(await numbers(own, { ...choice, again: "919811111111" }), ["919811111111"]);
});

test("finds an extension by its digit or number, in the call's account only", async () => {
  const [own, other] = [await account(), await account()];
  await makeExtension({ db, clock }, own, "205", { digit: "5", endpoint: "five" });
  const found = {
    number: "205",
    target: { kind: "extension", endpoint: "five", number: "205" },
  };
  assert.deepEqual(await findExtension(db.query, own, "5"), found);
  assert.equal(await findExtension(db.query, own, "6"), null);
  assert.equal(await findExtension(db.query, other, "5"), null);
  assert.deepEqual(await findExtensionNumber(db.query, own, "205", "asterisk"), found);
  assert.equal(await findExtensionNumber(db.query, other, "205", "asterisk"), null);
  assert.equal((await findExtensionNumber(db.query, other, "205", "sandbox"))?.number, "205");
});
