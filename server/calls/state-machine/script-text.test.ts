import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fillText, validateScript, placeholdersOf } from "./script-text.ts";

const name = fc.stringMatching(/^[A-Za-z0-9_.-]([A-Za-z0-9_ .-]{0,20}[A-Za-z0-9_.-])?$/);
const plain = fc.stringMatching(/^[^{}|]{0,20}$/u);
const piece = fc.record({ before: plain, name, fallback: fc.option(plain), pad: fc.boolean() });

test("reads the placeholders of a text, without spaces around names and defaults", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), plain, (pieces, after) => {
      const text =
        pieces
          .map(({ before, name: key, fallback, pad }) => {
            const rest = fallback === null ? "" : `|${fallback}`;
            return pad ? `${before}{{ ${key} ${rest}}}` : `${before}{{${key}${rest}}}`;
          })
          .join("") + after;
      assert.equal(validateScript(text), null);
      assert.deepEqual(
        placeholdersOf(text),
        pieces.map(({ name: key, fallback }) => ({
          name: key,
          fallback: fallback?.trim() ?? null,
        })),
      );
      const values = Object.fromEntries(pieces.map(({ name: key }) => [key, "value"]));
      const filled = pieces.map(({ before }) => `${before}value`).join("") + after;
      assert.deepEqual(fillText(text, values), { text: filled, missing: [] });
    }),
  );
});

test("never reads placeholders in a value, and names each missing value once", () => {
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 6 }),
      fc.dictionary(name, fc.string({ unit: "binary", maxLength: 40 })),
      (pieces, values) => {
        const text = pieces.map((one) => `{{${one.name}${one.fallback ? "|x" : ""}}}`).join(" ");
        const { text: filled, missing } = fillText(text, values);
        assert.ok(filled.length <= 5_000 && filled.isWellFormed() && !/\p{Cc}/u.test(filled));
        assert.equal(new Set(missing).size, missing.length);
        for (const key of missing) assert.ok(pieces.some((one) => one.name === key));
      },
    ),
  );
});

test("treats a blank value as missing, compares names with case, and ignores inherited keys", () => {
  assert.deepEqual(fillText("Hi {{name|there}}{{x|}}", { name: " \n" }), {
    text: "Hi there",
    missing: [],
  });
  assert.deepEqual(fillText("{{name}}{{constructor}}{{name}}", { Name: "Ann" }), {
    text: "",
    missing: ["name", "constructor"],
  });
  assert.equal(fillText("{{a}}", { a: "{{b}}\u0000two\nlines" }).text, "{{b}} two lines");
  assert.equal(fillText("{{a}}", { a: "x".repeat(600) }).text.length, 500);
  assert.equal(fillText("{{a}}".repeat(20), { a: "🦉".repeat(300) }).text.length, 5_000);
});

test("reports an invalid placeholder", () => {
  for (const [text, reason] of [
    ["Hi {{name", /must close every \{\{/],
    ["Hi {{name|the{re}}", /must close every \{\{/],
    ["Hi name}}", /must open every \}\}/],
    ["Hi {{}}", /1 to 64/],
    [`Hi {{${"n".repeat(65)}}}`, /1 to 64/],
    ["Hi {{naïve}}", /\{\{naïve\}\}/],
  ] as const)
    assert.match(validateScript(text) ?? "", reason, text);
  assert.equal(validateScript("Single { braces } are { allowed } here, {{ok}}{"), null);
});
