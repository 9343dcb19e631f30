import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { cloneDatabase, type TestDatabase } from "../../test/support/database.ts";
import { openDatabase, type Database } from "./database/database.ts";
import { openLog } from "./log.ts";
import { phoneKey, phoneSpellings } from "./phone-key.ts";

let database: TestDatabase;
let db: Database;

before(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, openLog("silent", { readable: false }));
});
after(async () => {
  await db.close();
  await database.drop();
});

test("the spellings of a Brazilian, Mexican or Argentine mobile have one key", () => {
  const same: [string, string, string][] = [
    ["5551987654321", "555187654321", "5551987654321"],
    ["5511961234567", "551161234567", "5511961234567"],
    ["525512345678", "5215512345678", "525512345678"],
    ["5491123456789", "541123456789", "541123456789"],
  ];
  for (const [one, another, key] of same) {
    assert.deepEqual([phoneKey(one), phoneKey(another)], [key, key]);
    for (const phone of [one, another])
      assert.deepEqual(phoneSpellings(phone).toSorted(), [one, another].toSorted());
  }
});

test("other numbers keep their digits, and a Brazilian landline does not become a mobile number", () => {
  for (const phone of [
    "919876543210",
    "14155552671",
    "551132345678",
    "5511932345678",
    "5312345678",
  ])
    assert.deepEqual([phoneKey(phone), phoneSpellings(phone)], [phone, [phone]]);
});

/** Digits that often look like the numbers with two spellings. */
const digits = fc
  .tuple(
    fc.constantFrom(
      "",
      "5",
      "55",
      "55119",
      "55517",
      "555198",
      "52",
      "521",
      "5211",
      "54",
      "549",
      "5499",
      "91",
    ),
    fc.stringMatching(/^[0-9]{0,13}$/),
  )
  .map((parts) => parts.join("") || "1");

test("a key is its own key, and exactly the spellings of a number have its key", () => {
  fc.assert(
    fc.property(digits, digits, (phone, another) => {
      const key = phoneKey(phone);
      assert.equal(phoneKey(key), key);
      const spellings = phoneSpellings(phone);
      assert.equal(spellings[0], key);
      assert.ok(spellings.includes(phone));
      for (const spelling of spellings) assert.equal(phoneKey(spelling), key);
      assert.equal(spellings.includes(another), phoneKey(another) === key);
    }),
    { numRuns: 20_000 },
  );
});

test("SQL finds the same keys and spellings", async () => {
  const phones = fc.sample(digits, 20_000);
  const { rows } = await db.pool.query<{ phone: string; key: string; spellings: string[] }>(
    "select phone, phone_key(phone) as key, phone_spellings(phone) as spellings from unnest($1::text[]) phone",
    [phones],
  );
  assert.equal(rows.length, phones.length);
  for (const { phone, key, spellings } of rows)
    assert.deepEqual([key, spellings], [phoneKey(phone), phoneSpellings(phone)], phone);
});
