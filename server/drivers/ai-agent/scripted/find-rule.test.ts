import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AiAgentRule } from "../driver.ts";
import { findRuleForKey, findRuleForUtterance } from "./find-rule.ts";

function rule(say: string, keys: string, keywords: readonly string[]): AiAgentRule {
  // oxlint-disable-next-line unicorn/no-thenable -- a field of the plan, not a function
  return { keys, keywords, say, then: "go_on" };
}

const rules = [
  rule("hours", "1*", ["opening hours", "when"]),
  rule("person", "10", ["agent", "a person"]),
  rule("hindi", "", ["हाँ", "café"]),
  rule("none", "", ["", " ", "?!"]),
];

test("finds the first rule with the key", () => {
  assert.equal(findRuleForKey(rules, "1")?.say, "hours");
  assert.equal(findRuleForKey(rules, "0")?.say, "person");
  assert.equal(findRuleForKey(rules, "#"), null);
});

test("matches keywords as whole words in any case and finds the first matching rule", () => {
  const found = {
    "When do you open?": "hours",
    "your OPENING... hours, please": "hours",
    whenever: null,
    "hours of opening": null,
    "I want an agent, when you can": "hours",
    "get me A  Person": "person",
    personal: null,
    "हाँ!": "hindi",
    "CAFE\u0301": "hindi",
    "": null,
    "?!": null,
  };
  for (const [text, say] of Object.entries(found))
    assert.equal(findRuleForUtterance(rules, text)?.say ?? null, say, text);
});

test("never throws, whatever the caller says", () => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.string()), (text, keywords) => {
      const found = findRuleForUtterance([rule("any", "", keywords)], text);
      assert.ok(found === null || found.say === "any");
    }),
  );
});
