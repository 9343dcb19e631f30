import assert from "node:assert/strict";
import { glob, readFile } from "node:fs/promises";
import { test } from "node:test";
import { campaign_failures, recipient_reasons } from "../../console/messages/chat-reasons.ts";
import { ChatSendError } from "../../server/drivers/chat/driver.ts";
import { decideAction, errorName } from "../../server/chat/messages/error-actions.ts";

const server = new URL("../../server/chat", import.meta.url).pathname;
const codes = Array.from({ length: 140_000 }, (_, code) => code);
const before = { error: null, attempts: 0 };

test("every reason for which a message fails, waits or is skipped has a sentence", async () => {
  const names = new Set(codes.map(errorName));
  for await (const path of glob(`${server}/**/*.ts`)) {
    if (path.endsWith(".test.ts")) continue;
    const source = await readFile(path, "utf8");
    for (const [, name] of source.matchAll(/\berror: "([a-z_]+)"/g)) names.add(name!);
  }
  const functions = new URL("../../migrations/functions", import.meta.url).pathname;
  const claim = await readFile(`${functions}/record_and_claim_messages.sql`, "utf8");
  for (const [, name] of claim.matchAll(/\)\) then '([a-z_]+)'/g)) names.add(name!);
  assert.ok(["campaign_failed", "unreachable", "suppressed"].every((name) => names.has(name)));
  assert.deepEqual([...names].toSorted(), Object.keys(recipient_reasons).toSorted());
});

test("every reason for which a campaign fails as a whole has a sentence", () => {
  const failing = codes
    .map((code) => decideAction(new ChatSendError("rejected", "", { code }), before, 0))
    .filter(({ fail_campaign }) => fail_campaign);
  assert.deepEqual([...new Set(failing.map(({ error }) => error))], Object.keys(campaign_failures));
});
