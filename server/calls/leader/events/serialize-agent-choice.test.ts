import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAgentGroup, makeExtension } from "../../../../test/support/telephony-factory.ts";
import { openCallFixture, type CallFixture } from "../../../../test/support/call-fixture.ts";

let fixture: CallFixture;
const members = ["711", "712", "713", "714", "715"];

before(async () => {
  fixture = await openCallFixture();
  for (const member of members) await makeExtension(fixture.app, fixture.account, member);
});
after(() => fixture.close());

const groups = [
  ["its group", "799", "from_group_id"],
  ["the backup group", "486", "agent_not_pick_group"],
] as const;

for (const [what, from_number, field] of groups)
  test(`concurrent calls ring different agents of ${what}`, () =>
    eachRingsAnother(from_number, field));

async function eachRingsAnother(from_number: string, field: string): Promise<void> {
  const group = await makeAgentGroup(fixture.app, fixture.account, members);
  const campaigns: number[] = [];
  for (let i = 0; i < members.length; i++) {
    const to_number = `9${group}${i}0777900`;
    campaigns.push(await fixture.call({ to_number, from_number, [field]: String(group) }));
  }
  const leaders = fixture.startLeaders();
  const rung: string[] = [];
  for (const campaign of campaigns) {
    const record = await fixture.awaitCall(campaign, "in-progress");
    const agents = record.legs.filter(({ role }: { role: string }) => role === "agent");
    rung.push(agents.at(-1).number);
  }
  assert.deepEqual(rung.toSorted(), members);
  for (const campaign of campaigns) {
    const [{ call_id }] = await fixture.callRecords(campaign);
    await fixture.ask("POST", `/api/v1/calls/${call_id}/hangup`);
    await fixture.awaitCall(campaign, "completed");
  }
  await leaders.stop();
}
