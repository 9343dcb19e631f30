import assert from "node:assert/strict";
import { test } from "node:test";
import { hasOpenQuote } from "./has-open-quote.ts";

test("a quote is open if the one that ends its cell, behind a line break, is followed by text", () => {
  for (const [raw, cells, is_open] of [
    ['1,"A\nB"\r', ["1", "A\nB"], false],
    ['1,"""A""\nB"\n', ["1", '"A"\nB'], false],
    ['"""A\n""","B" C', ['"A\n"', '"B" C'], false],
    ['1,"A\n2,"B"\n', ["1", '"A\n2,"B"'], true],
  ] as const)
    assert.equal(hasOpenQuote(cells, raw, ","), is_open, raw);
});

test("finds that no quote is open in one pass, however many cells or quotes a record has", () => {
  const quotes = '"'.repeat(200_000);
  const cells = Array.from({ length: 80_000 }, (_, i) => `"\n${String(i).padStart(5, "0")}`);
  for (const record of [cells, [`x${quotes}${quotes}`, `"\n${quotes}`]]) {
    const raw = record
      .map((cell) => (cell.startsWith("x") ? cell : `"${cell.replaceAll('"', '""')}"`))
      .join(",");
    const cpu = process.threadCpuUsage();
    assert.equal(hasOpenQuote(record, raw, ","), false);
    const { user } = process.threadCpuUsage(cpu);
    // Searching the record for each cell took 10 to 30 s.
    assert.ok(user < 2_000_000, `${user} us`);
  }
});
