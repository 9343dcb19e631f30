import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { cloneDatabase, type TestDatabase } from "../../../test/support/database.ts";
import {
  countOfState,
  ledgerEntry,
  recipientStates,
  transition,
  transitionRows,
} from "./recipient-states.ts";

let database: TestDatabase;
let client: pg.Client;

before(async () => {
  database = await cloneDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
after(async () => {
  await client.end();
  await database.drop();
});

test("chat_transitions equals the table in code", async () => {
  const { rows } = await client.query("select from_state, to_state, ledger from chat_transitions");
  const inOrder = (all: { from_state: string; to_state: string; ledger: string }[]) =>
    all.map(({ from_state, to_state, ledger }) => `${from_state} ${to_state} ${ledger}`).toSorted();
  assert.deepEqual(inOrder(rows), inOrder(transitionRows()));
});

test("no path through the states charges or refunds a credit twice, or refunds an uncharged one", () => {
  // Resends and retries lead back to a pending state, with the credit reserved or already captured.
  type Credit = "reserved" | "captured" | "returned";
  const seen = new Set<string>();
  const walk = (state: (typeof recipientStates)[number], credit: Credit) => {
    if (seen.has(`${state} ${credit}`)) return;
    seen.add(`${state} ${credit}`);
    const open = countOfState[state] === "pending";
    if (open) assert.notEqual(credit, "returned", `${state} is open without credit`);
    else assert.notEqual(credit, "reserved", `${state} is final and its credit still reserved`);
    for (const to of recipientStates) {
      const move = transition(state, to);
      if (!move) continue;
      const entry = ledgerEntry(move.ledger, credit === "captured");
      if (entry === "capture" || entry === "release" || entry === "capture+refund")
        assert.equal(credit, "reserved", `${state} to ${to}`);
      if (entry === "refund") assert.equal(credit, "captured", `${state} to ${to}`);
      const next: Record<typeof entry, Credit> = {
        "": credit,
        capture: "captured",
        release: "returned",
        refund: "returned",
        "capture+refund": "returned",
      };
      walk(to, next[entry]);
    }
  };
  walk("queued", "reserved");
  assert.ok(seen.has("deferred captured"), "a retry keeps its captured credit");
});

test("a message that was reported as sent, delivered or read is never retried", () => {
  for (const from of ["sent", "delivered", "read"] as const)
    for (const to of recipientStates)
      if (transition(from, to)) assert.notEqual(countOfState[to], "pending", `${from} to ${to}`);
});

test("a success is never undone by a later failure", () => {
  for (const from of ["delivered", "read"] as const) {
    for (const to of recipientStates) {
      if (transition(from, to)) assert.equal(`${from} ${to}`, "delivered read");
    }
  }
});
