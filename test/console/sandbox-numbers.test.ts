// What the console says of the sandbox's numbers.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { call_behaviors, chat_behaviors } from "../../console/messages/sandbox-numbers.ts";

test("every number that the console offers to try is one of the sandbox's, of its kind", async () => {
  const guide = await readFile(new URL("../../docs/guides/sandbox.md", import.meta.url), "utf8");
  const [of_messages, of_calls] = guide.split("## Call outcomes") as [string, string];
  for (const [behaviors, section] of [
    [chat_behaviors, of_messages],
    [call_behaviors, of_calls],
  ] as const)
    for (const [ending] of behaviors)
      assert.match(section, new RegExp(`^\\| \`${ending}\` \\|`, "m"));
});
