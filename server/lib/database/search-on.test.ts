import assert from "node:assert/strict";
import { test } from "node:test";
import { page_bytes_max, searchOn } from "./cursor.ts";

/** A list of `rows` numbers of which a search looks at ten and finds those that match; a cursor is the number reached. */
function listOf(rows: number, matches: (row: number) => boolean) {
  let searches = 0;
  const list = async ({ limit, cursor = "0" }: { limit: number; cursor?: string | undefined }) => {
    searches++;
    const from = Number(cursor);
    const until = Math.min(from + 10, rows);
    const all = Array.from({ length: until - from }, (_, i) => from + i).filter(matches);
    const data = all.slice(0, limit);
    const reached = all.length > limit ? data.at(-1)! + 1 : until;
    return { data, next_cursor: reached === rows ? null : String(reached) };
  };
  return { list, searches: () => searches };
}

test("a page is filled by as many searches as it takes, and the next one begins behind its last row", async () => {
  const { list } = listOf(100, (row) => row % 9 === 0);
  const first = await searchOn({ limit: 3 }, list);
  assert.deepEqual(first.data, [0, 9, 18]);
  const rest = await searchOn({ limit: 50, cursor: first.next_cursor! }, list);
  assert.deepEqual(rest, { data: [27, 36, 45, 54, 63, 72, 81, 90, 99], next_cursor: null });
});

test("a page that finds too little ends after 12 searches, and the next one goes on", async () => {
  const { list, searches } = listOf(200, (row) => row === 170);
  const first = await searchOn({ limit: 3 }, list);
  assert.deepEqual(first, { data: [], next_cursor: "120" });
  assert.equal(searches(), 12);
  const next = await searchOn({ limit: 3, cursor: first.next_cursor }, list);
  assert.deepEqual(next, { data: [170], next_cursor: null });
});

test("a page whose bytes ended it is not searched on, however few rows it has", async () => {
  let searches = 0;
  const large = "x".repeat(page_bytes_max);
  const list = async () => ({ data: [large], next_cursor: String(++searches) });
  const found = await searchOn({ limit: 50 }, list);
  assert.deepEqual([found.data.length, found.next_cursor, searches], [1, "1", 1]);
});
