import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { cloneDatabase } from "../../../test/support/database.ts";
import { openDatabase, type Database } from "./database.ts";
import { openLog } from "../log.ts";
import { readBounded } from "./cursor.ts";

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
before(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, openLog("silent", { readable: false }));
});
after(async () => {
  await db.close();
  await database.drop();
});

/** Reads rows 1 to `rows`, each with as many bytes. */
function read(rows: number, bytes: number) {
  const query = sql<{ id: number; text: string | null }>`
    select n as id, case when n <> 3 then repeat('x', ${bytes}) end as text
    from generate_series(${rows}::int, 1, -1) n`;
  return readBounded(db.query, query, { large: ["text"], order: "id", bytes_max: 1_000 });
}

test("rows end with the one that exceeds the bytes, in their order, and are reported as cut", async () => {
  const { rows, isCut } = await read(10, 400);
  assert.deepEqual(
    rows.map(({ id, text }) => [id, text?.length]),
    [
      [1, 400],
      [2, 400],
      [3, undefined],
      [4, 400],
    ],
  );
  assert.equal(isCut, true);
  assert.deepEqual(Object.keys(rows[0]!), ["id", "text"]);
});

test("a row beyond the bytes is returned alone", async () => {
  const { rows, isCut } = await read(2, 5_000);
  assert.deepEqual([rows.map(({ id }) => id), isCut], [[1], true]);
});

test("rows within the bytes are not cut, also if the last one exceeds them, or if there are none", async () => {
  for (const [rows, bytes] of [
    [10, 10],
    [1, 5_000],
    [0, 1],
  ] as const) {
    const found = await read(rows, bytes);
    assert.deepEqual([found.rows.length, found.isCut], [rows, false]);
  }
});
