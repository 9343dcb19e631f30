import assert from "node:assert/strict";
import { glob, readFile } from "node:fs/promises";
import { test } from "node:test";
import { leg_outcomes } from "../../server/drivers/voice/driver.ts";
import { retried_reasons } from "../../server/voice/campaigns/campaign-record-schema.ts";

// Not imported by name, because their types are those of a browser.
const moduleOf = async (name: string) =>
  import(new URL(`../../console/messages/${name}.ts`, import.meta.url).href);
const { call_reasons } = (await moduleOf("call-reasons")) as { call_reasons: object };
const { voice_failures, retriedReason } = (await moduleOf("voice-reasons")) as {
  voice_failures: object;
  retriedReason: (reason: string) => string | null;
};

const server = new URL("../../server/calls/state-machine", import.meta.url).pathname;
const not_named = new Set<string>(["hung_up", "unplaced", "lost"]);

async function blockers(): Promise<string[]> {
  const source = await readFile(`${server}/call-blocker.ts`, "utf8");
  return [...source.matchAll(/^ +\| "([a-z_]+)"/gm)].map(([, name]) => name!);
}

test("every reason for which a call ends has a sentence", async () => {
  // Those of AI agents are passed on.
  const names = new Set([...(await blockers()), "silence", "too_long"]);
  for (const outcome of leg_outcomes)
    if (!not_named.has(outcome)) names.add(`agent_${outcome}`).add(`customer_${outcome}`);
  const uses =
    /(?:endAnsweredCall\([^"()]*|ended_reason: |then_end: |answer_missed = )"([a-z_]+)"/g;
  for await (const path of glob(`${server}/**/*.ts`)) {
    if (path.endsWith(".test.ts")) continue;
    for (const [, name] of (await readFile(path, "utf8")).matchAll(uses)) names.add(name!);
  }
  for (const name of ["agent_lost", "speech_rejected", "answer_missed", "node_lost"])
    assert.ok(names.has(name), name);
  assert.deepEqual(
    [...names].filter((name) => !Object.hasOwn(call_reasons, name)),
    [],
  );
});

test("every reason for which a campaign's recipients can be retried has a sentence", () => {
  assert.deepEqual(
    retried_reasons.filter((reason) => !Object.hasOwn(voice_failures, reason)),
    [],
  );
  const lasting = retried_reasons.filter((reason) => retriedReason(reason) === null);
  assert.deepEqual(lasting, ["customer_unallocated", "customer_invalid"]);
});
