import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { cloneDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { countOfState, recipientStates, transition, transitionRows } from "./recipient-states.ts";

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
  // Every acyclic path; the only cycle, a resend, leads back to an untouched reservation.
  type Credit = "reserved" | "captured" | "returned";
  const seen = new Set<string>();
  const walk = (state: (typeof recipientStates)[number], credit: Credit) => {
    if (seen.has(`${state} ${credit}`)) return;
    seen.add(`${state} ${credit}`);
    const open = countOfState[state] === "pending";
    if (open) assert.equal(credit, "reserved", `${state} is open with its credit ${credit}`);
    for (const to of recipientStates) {
      const move = transition(state, to);
      if (!move) continue;
      if (
        move.ledger === "capture" ||
        move.ledger === "release" ||
        move.ledger === "capture+refund"
      )
        assert.equal(credit, "reserved", `${state} to ${to}`);
      if (move.ledger === "refund") assert.notEqual(credit, "reserved", `${state} to ${to}`);
      const next: Record<typeof move.ledger, Credit> = {
        "": credit,
        capture: "captured",
        release: "returned",
        refund: "returned",
        "capture+refund": "returned",
      };
      const then = next[move.ledger];
      if (countOfState[to] !== "pending")
        assert.notEqual(then, "reserved", `${to} is final and its credit still reserved`);
      walk(to, then);
    }
  };
  walk("queued", "reserved");
  assert.ok(seen.size > recipientStates.length);
});

test("a success is never undone by a later failure", () => {
  for (const from of ["delivered", "read"] as const) {
    for (const to of recipientStates) {
      if (transition(from, to)) assert.equal(`${from} ${to}`, "delivered read");
    }
  }
});
