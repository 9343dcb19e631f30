import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { cellText } from "./cell-text.ts";
import { csvLines, writeCsv } from "./write-csv.ts";

/** Texts near what the writer looks at, besides any text at all. */
const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: fc.constantFrom(..."=+-@＝＋－＠ \t\r\n;',\"\u00a0\ufeffa1(".split("")) }),
);

const written = (cell: string) => parse(csvLines([[cell, "end"]]))[0]![0]!;

/** A formula's sign before all else but blanks and quotes; phones and numbers aside. */
function isRun(cell: string): boolean {
  return /^[\s"]*[=+\-@＝＋－＠]/.test(cell) && !/^[+-][\d\s()+.,;-]+$/.test(cell.trim());
}

test("no cell begins with a formula, ignoring blanks, unless it is a phone or a number", () => {
  fc.assert(
    fc.property(text, (given) => {
      const cell = written(given);
      assert.ok(!isRun(cell), cell);
      if (given.trim() !== "") assert.doesNotMatch(cell, /^[\t\r]/);
    }),
  );
});

test("no cell or list has a formula for a reader that splits at semicolons, tabs or line breaks and ignores quotes", () => {
  fc.assert(
    fc.property(text, fc.boolean(), (given, isListed) => {
      const line = csvLines([[1, isListed ? [given] : given, 2]]);
      for (const separator of [/;/, /\t/, /[\r\n]/, /[;\t\r\n]/])
        for (const cell of line.split(separator).slice(1))
          // What follows is the end of ours: a figure is one up to there.
          assert.ok(!isRun(cell.replace(/"?,2(\r\n)?$/, "")), JSON.stringify(line));
      if (isListed) assert.deepEqual(JSON.parse(parse(line)[0]![1]!), [given]);
    }),
    { numRuns: 1_000 },
  );
});

test("quotes characters that a reader may treat as separators", () => {
  assert.equal(
    csvLines([["a;b", "a\tb", "a\rb", "a,b", "a b"]]),
    '"a;b","a\tb","a\rb","a,b",a b\r\n',
  );
});

test("the import reads every exported cell as the original text, trimmed", () => {
  fc.assert(
    fc.property(text, (given) => {
      assert.equal(cellText(written(given)), given.trim());
    }),
  );
});

test("a cell gets an apostrophe only before text that a spreadsheet would execute", () => {
  const inert = ["=1+1", "+x", "-2+3", "@sum", "\rx", "  =1", '"=1', "＝1", "＋1", "－1", "＠x"];
  for (const given of [...inert, "'=1", "+1-1"]) assert.equal(written(given), `'${given}`);
  const parted: Record<string, string> = {
    "a;=1;b": "a;'=1;b",
    'a\t"@x': "a\t'\"@x",
    "a\n- b\r\n+c": "a\n'- b\r\n'+c",
    "\n=1": "'\n'=1",
    "+91 98765 43210; =1": "'+91 98765 43210;' =1",
    "x;-5;+919876543210": "x;-5;+919876543210",
    "x;+1\t*cmd": "x;'+1\t*cmd",
  };
  for (const [given, expected] of Object.entries(parted)) assert.equal(written(given), expected);
  const phones = ["+919876543210", "+91 98765-43210", "+1 (202) 555-0100", "+44(20)79460958"];
  for (const given of [...phones, "919876543210", "a=1", "'quoted'", "-1.5", "", " ", "0", "{}"])
    assert.equal(written(given), given);
});

test("writes numbers, times, booleans, lists and null by their type", () => {
  const at = new Date("2026-01-31T09:30:00Z");
  const line = csvLines([
    [-1.5, 0, true, false, at, null, undefined, ["=1"], { a: 'b"' }, "a\r\nb"],
  ]);
  assert.equal(
    line,
    '-1.5,0,true,false,2026-01-31T09:30:00.000Z,,,"[""=1""]","{""a"":""b\\""""}","a\r\nb"\r\n',
  );
});

test("reads on behind a page that bytes have ended, with fewer rows to measure", async () => {
  const limits: number[] = [];
  const chunks = writeCsv<number>({
    header: ["n"],
    page_rows: 10,
    next: async (after, limit) => {
      limits.push(limit);
      return { rows: [(after ?? 0) + 1], isCut: (after ?? 0) < 2 };
    },
    cells: (n) => [n],
  });
  let all = "";
  for await (const chunk of chunks) all += chunk;
  assert.equal(all, "n\r\n1\r\n2\r\n3\r\n");
  assert.deepEqual(limits, [10, 2, 2]);
});

test("reads pages one by one, on demand, until one is not full", async () => {
  const asked: (number | null)[] = [];
  const chunks = writeCsv<number>({
    header: ["n"],
    page_rows: 2,
    next: async (after, limit) => {
      asked.push(after);
      return [1, 2, 3, 4].filter((n) => n > (after ?? 0)).slice(0, limit);
    },
    cells: (n) => [n],
  });
  const read = async () => (await chunks.next()).value as string | undefined;
  assert.deepEqual([await read(), asked], ["n\r\n", []]);
  assert.deepEqual([await read(), asked], ["1\r\n2\r\n", [null]]);
  assert.deepEqual([await read(), asked], ["3\r\n4\r\n", [null, 2]]);
  assert.deepEqual([await read(), asked], [undefined, [null, 2, 4]]);
});
