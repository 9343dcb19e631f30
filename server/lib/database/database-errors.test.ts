import assert from "node:assert/strict";
import { test } from "node:test";
import { isDatabaseUnavailable, violatesForeignKey, violatesUnique } from "./database-errors.ts";

const key = "users_account_id_email_key";
const long_key = "credit_reservations_account_id_subject_and_something_longer_key";

function unique(constraint: unknown) {
  return Object.assign(new Error("duplicate key"), { code: "23505", constraint });
}

for (const [title, constraint, name] of [
  ["by its name", key, key],
  ["by its name on a shard", key, `${key}_102008`],
  [
    "by the shortened name on a shard",
    long_key,
    "credit_reservations_account_id_subject_and_some_1f3a90bc_102008",
  ],
  ["without a name", key, undefined],
] as const) {
  test(`recognizes a violated constraint ${title}`, () => {
    assert.equal(violatesUnique(unique(name), constraint), true);
    assert.equal(violatesForeignKey(unique(name), constraint), false, "another kind");
  });
}

for (const [title, constraint, name] of [
  ["a longer name", key, `${key}_of_agents`],
  ["another name on a shard", key, "users_account_id_name_key_102008"],
  ["a name that begins alike", key, "users_account_id_102008"],
  ["a shortened name of a constraint that needs none", key, "users_account_id_em_1f3a90bc_102008"],
  [
    "the shortened name of another",
    long_key,
    "credit_transfers_account_id_subject_and_somethi_1f3a90bc_102008",
  ],
  ["a shortened name of another length", long_key, "credit_reservations_account_1f3a90bc_102008"],
] as const) {
  test(`does not mistake ${title} for the constraint`, () => {
    assert.equal(violatesUnique(unique(name), constraint), false);
  });
}

test("does not take an error of another kind for a violation", () => {
  assert.equal(violatesUnique(new Error("no code"), key), false);
  assert.equal(violatesForeignKey(Object.assign(new Error(""), { code: "23503" }), key), true);
});

test("a worker that a distributed database lost is unavailable, other internal errors are not", () => {
  const internal = (text: string) => Object.assign(new Error(text), { code: "XX000" });
  const lost = internal("server closed the connection unexpectedly\n\tThis probably means");
  assert.equal(isDatabaseUnavailable(lost), true);
  assert.equal(isDatabaseUnavailable(internal("no connection to the server\n")), true);
  assert.equal(isDatabaseUnavailable(internal("cache lookup failed for relation 17")), false);
});
