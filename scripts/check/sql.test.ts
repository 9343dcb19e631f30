import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSync } from "libpg-query";
import { checkStatement, functionViolations, withoutExceptions } from "./sql.ts";
import type { Rule } from "./sql/account-rules.ts";
import { readFunction } from "./sql/read-function.ts";

const kinds = {
  accounts: "tenant",
  calls: "tenant",
  call_legs: "tenant",
  jobs: "tenant",
  trunks: "reference",
  migrations: "operator",
};
const volatilities = new Map([
  ["phone_key", "immutable"],
  ["count_calls", "stable"],
  ["move_call", "volatile"],
] as const);

function rulesOf(sql: string): Rule[] {
  return parseSync(sql).stmts!.flatMap(({ stmt }) =>
    checkStatement(stmt, kinds, volatilities, () => false).map(({ rule }) => rule),
  );
}

const passing: Readonly<Record<string, string>> = {
  "one account by a parameter": "select * from calls c where c.account_id = $1 and c.id = $2",
  "an account without alias": "select * from calls where (account_id, id) = ($1, $2)",
  "an account that a join carries on": `select * from calls c
    join call_legs l on l.account_id = c.account_id and l.call_id = c.id where c.account_id = $1`,
  "an account by USING":
    "select * from calls join call_legs using (account_id) where calls.account_id = $1",
  "a subquery that names the account": `select exists (select from call_legs l
    where l.account_id = $1 and l.call_id = c.id) from calls c where c.account_id = $1`,
  "reference tables alone": "select * from trunks t where t.id = $1",
  "a reference table beside a tenant table":
    "select * from calls c join trunks t on t.id = c.trunk_id where c.account_id = $1",
  "operator tables alone": "delete from migrations",
  "an insert of values": "insert into calls (account_id, id) values ($1, 1), ($1::bigint, 2)",
  "an insert of read rows": `insert into call_legs (id, account_id)
    select c.id, $1 from calls c where c.account_id = $1`,
  "a common table expression named like a table": `with calls as (
    insert into calls (account_id) values ($1) returning id) select * from calls`,
  "a searched case": "select case when c.id = 1 then 2 end from calls c where c.account_id = $1",
  "a recursion over no table": "with recursive n as (select 1 union all select 2) select * from n",
  "a time passed in":
    "update jobs j set run_at = $2 where j.account_id = $1 and j.run_at < $2::timestamptz",
  "a stable function of parameters":
    "update jobs j set run_at = date_trunc('hour', $2::timestamptz) where j.account_id = $1",
  "an immutable function for each row":
    "select phone_key(c.to_phone) from calls c where c.account_id = $1",
  "a function of parameters": "select count_calls($1) from calls c where c.account_id = $1",
  "a function of a subquery":
    "select count_calls(array(select c.id from calls c where c.account_id = $1))",
  "rows joined with a table": `select * from calls c join unnest($2::bigint[]) i on i = c.id
    where c.account_id = $1 and c.id = any ($2)`,
  "columns in RETURNING": "update calls c set id = 1 where c.account_id = $1 returning c.id + 1",
  "an update by a column, an interval and a time zone":
    "update jobs j set run_at = (j.run_at at time zone 'UTC' + interval '1 s') at time zone 'UTC' where j.account_id = $1",
};

for (const [title, sql] of Object.entries(passing)) {
  test(`${title} passes`, () => assert.deepEqual(rulesOf(sql), []));
}

const failing: readonly (readonly [title: string, rule: Rule, sql: string])[] = [
  ["a read of all accounts", "several-accounts", "select * from calls"],
  ["a list of accounts", "several-accounts", "select * from calls c where c.account_id = any ($1)"],
  [
    "one account or another condition",
    "several-accounts",
    "select * from calls c where c.account_id = $1 or c.id = $2",
  ],
  ["another account", "several-accounts", "delete from calls c where c.account_id <> $1"],
  [
    "a join without account",
    "several-accounts",
    "select * from calls c join call_legs l on l.call_id = c.id where c.account_id = $1",
  ],
  ["an insert without account", "several-accounts", "insert into calls select * from trunks"],
  [
    "an insert of a computed account",
    "several-accounts",
    "insert into calls (account_id) values (1 + 1)",
  ],
  [
    "an account by correlation",
    "correlated-account",
    `select exists (select from call_legs l where l.account_id = c.account_id) from calls c
     where c.account_id = $1`,
  ],
  [
    "an account of a common table expression",
    "correlated-account",
    `with n as (select c.account_id from calls c where c.account_id = $1)
     select * from n join call_legs l on l.account_id = n.account_id`,
  ],
  [
    "an operator table beside a tenant table",
    "mixed-tables",
    "select * from calls c, migrations m where c.account_id = $1",
  ],
  [
    "a simple case",
    "simple-case",
    "select case c.id when 1 then 2 end from calls c where c.account_id = $1",
  ],
  [
    "a recursion over a tenant table",
    "recursive",
    "with recursive n as (select c.id from calls c where c.account_id = $1) select * from n",
  ],
  [
    "a volatile function in an update",
    "changing-function",
    "update jobs j set run_at = clock_timestamp() where j.account_id = $1",
  ],
  [
    "our own volatile function in a delete",
    "changing-function",
    "delete from jobs j where j.account_id = $1 and move_call($1)",
  ],
  [
    "a stable function of a column in an update",
    "changing-function",
    "update jobs j set run_at = date_trunc('hour', j.run_at) where j.account_id = $1",
  ],
  [
    "a column and an interval in a conflict clause",
    "changing-function",
    `insert into jobs as j (account_id) values ($1)
     on conflict (account_id) do update set run_at = j.run_at + 2 * interval '1 s'`,
  ],
  [
    "a column and an interval in an update of a table of every node",
    "changing-function",
    "update trunks t set updated_at = t.updated_at + interval '1 ms' where t.id = $1",
  ],
  [
    "a function for each row",
    "function-per-row",
    "select count_calls(c.id) from calls c where c.account_id = $1",
  ],
  [
    "a look-up beside rows",
    "look-up-beside-rows",
    `select * from unnest($2::bigint[]) i cross join lateral (
       select * from calls c where c.account_id = $1 and c.id = i) c`,
  ],
  [
    "a subquery beside rows",
    "look-up-beside-rows",
    `select exists (select from calls c where c.account_id = $1 and c.id = i.id)
     from json_to_recordset($2) i (id bigint)`,
  ],
  [
    "a subquery in RETURNING",
    "subquery-in-returning",
    `update calls c set id = 1 where c.account_id = $1
     returning (select a.name from accounts a where a.account_id = $1)`,
  ],
  [
    "a subquery in the VALUES of INSERT",
    "subquery-in-insert",
    `insert into calls (account_id, id)
     values ($1, (select max(c.id) from calls c where c.account_id = $1))`,
  ],
];

for (const [title, rule, sql] of failing) {
  test(`${title} fails`, () => assert.deepEqual(rulesOf(sql), [rule]));
}

function inFunction(body: string, language = "plpgsql") {
  const fn = readFunction(`-- A comment.
create or replace function take_call(p_account_id bigint, p_id bigint) returns void
language ${language} as $$
${body}
$$;`);
  return functionViolations(fn, kinds, volatilities).map(({ rule, line }) => [rule, line]);
}

test("parameters and variables of a function name the account", () => {
  const body = `declare
  v_call calls;
  v_calls calls[];
begin
  select * into v_call from calls c where c.account_id = p_account_id;
  delete from call_legs l where l.account_id = v_call.account_id;
  v_calls := array(select c from calls c where c.account_id = p_account_id);
end`;
  assert.deepEqual(inFunction(body), []);
});

test("names the line of each statement, assignment and condition of a function", () => {
  const body = `declare
  v_id bigint := (select c.id from calls c);
begin
  if exists (select from calls) then
    v_id := (select c.id from calls c);
    update calls c set id = 1;
  end if;
end`;
  assert.deepEqual(inFunction(body), [
    ["several-accounts", 5],
    ["several-accounts", 7],
    ["several-accounts", 8],
    ["several-accounts", 9],
  ]);
});

for (const [insert, rules] of [
  ["select p_account_id, p_id on conflict do nothing", ["count-after-conflict"]],
  ["values (p_account_id, p_id) on conflict do nothing", []],
  ["select p_account_id, p_id", []],
] as const) {
  for (const use of ["if found then return; end if;", "get diagnostics v_count = row_count;"]) {
    test(`\`${use}\` after \`${insert}\` ${rules.length > 0 ? "fails" : "passes"}`, () => {
      const body = `declare v_count int;
begin insert into calls (account_id, id) ${insert}; ${use} end`;
      assert.deepEqual(
        inFunction(body).map(([rule]) => rule),
        rules,
      );
    });
  }
}

test("FOUND of a later statement passes", () => {
  const body = `begin
  insert into calls (account_id, id) select p_account_id, p_id on conflict do nothing;
  update calls c set id = 1 where c.account_id = p_account_id;
  if found then return; end if;
end`;
  assert.deepEqual(inFunction(body), []);
});

test("a function on tenant tables in SQL fails, one on none passes", () => {
  assert.deepEqual(inFunction("delete from calls c where c.account_id = p_account_id", "sql"), [
    ["sql-function", 4],
  ]);
  assert.deepEqual(inFunction("\n\nselect t.id from trunks t", "sql"), []);
});

test("an exception allows its violation, and is a violation once it is not needed", () => {
  const violation = { in: "f", rule: "recursive", line: 3, text: "is recursive" } as const;
  const exception = { in: "f", rule: "recursive", reason: "…" } as const;
  const other = { in: "g", rule: "simple-case", reason: "…" } as const;
  assert.deepEqual(withoutExceptions([violation], [exception], new Set(["f"])), []);
  assert.deepEqual(withoutExceptions([violation], [], new Set(["f"])), [
    "f.sql:3: is recursive (recursive)",
  ]);
  assert.match(withoutExceptions([], [exception], new Set(["f"]))[0]!, /^f: .* delete it/);
  assert.deepEqual(withoutExceptions([violation], [exception, other], new Set(["f"])), []);
});
