import assert from "node:assert/strict";
import { test } from "node:test";
import { summarize } from "./trace-statements.ts";

test("the summary of a statement is its operation and first table or function, and none of its values", () => {
  const statements = {
    begin: "BEGIN",
    COMMIT: "COMMIT",
    'select "id" from "chat_numbers" where "name" = $1 for update skip locked':
      "SELECT chat_numbers",
    "select check_job($1, $2, $3)": "SELECT check_job",
    "insert into jobs as j (id) values ($1) on conflict (id) do update set id = 1": "INSERT jobs",
    "with next as (select id from jobs for update) update jobs j set fence = 1 from next":
      "UPDATE jobs",
    "delete from leads where note = 'from Ada'": "DELETE leads",
    "set local statement_timeout = '10s'": "SET",
  };
  for (const [text, summary] of Object.entries(statements)) assert.equal(summarize(text), summary);
});
