import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkMigration, checkMigrations } from "./migrations.ts";

const per_statement = "-- transaction: per statement\n";

const passing: Readonly<Record<string, string>> = {
  "a new table with indexes, constraints and rows": `
    create table tags (account_id bigint not null references accounts, id bigint not null,
      name text not null check (name <> ''), primary key (account_id, id));
    create index tags_by_name on tags (account_id, name);
    alter table tags add column color text check (color <> '');
    alter table tags alter column name drop not null;
    insert into tags values (1, 1, 'a'); update tags set name = 'b';
    comment on table tags is 'Tags';`,
  "a new column, nullable or with a constant default": `
    alter table leads add column score int;
    alter table leads add column tags text[] not null default '{}'::text[];
    alter table leads add column added_at timestamptz;
    alter table leads alter column score set default 1;`,
  "an index built concurrently": `${per_statement}
    create unique index concurrently if not exists leads_by_score on leads (account_id, score);
    drop index concurrently if exists leads_by_old_score;`,
  "a column that becomes not null": `${per_statement}
    alter table leads add column score int;
    update leads set score = 0 where score is null and batch_of(leads);
    alter table leads add constraint leads_score_check check (score is not null) not valid;
    alter table leads validate constraint leads_score_check;
    alter table leads alter column score set not null;
    alter table leads drop constraint leads_score_check;`,
  "a unique constraint from an index": `${per_statement}
    create unique index concurrently if not exists leads_once on leads (account_id, score);
    alter table leads add constraint leads_once unique using index leads_once;`,
  "a foreign key that is validated later": `${per_statement}
    alter table leads add constraint leads_owner_fk
      foreign key (account_id, owner_id) references users not valid;
    alter table leads validate constraint leads_owner_fk;`,
  "rows copied and deleted in batches": `${per_statement}
    insert into scores select account_id, id from leads where batch_of(leads);
    delete from leads where score < 0 and batch_of(leads);`,
  "a removal with its reason": `
    -- contract: nothing reads it since version 3.
    alter table leads drop column score;
    -- contract: nothing calls it since version 3.
    drop function score_lead;
    -- contract: the table was never used.
    alter table scores rename to old_scores;`,
};

for (const [title, sql] of Object.entries(passing)) {
  test(`${title} passes`, () => assert.deepEqual(checkMigration(sql), []));
}

const failing: readonly (readonly [title: string, sql: string, problem: RegExp])[] = [
  ["an index", "create index x on leads (id);", /blocks writes/],
  ["an index without a name", "create index on leads (id);", /needs a name/],
  [
    "a concurrent index in a transaction",
    "create index concurrently if not exists x on leads (id);",
    /blocks writes/,
  ],
  [
    "a concurrent index that cannot be repeated",
    `${per_statement}create index concurrently x on leads (id);`,
    /blocks writes/,
  ],
  ["a dropped index", "drop index x;", /drop index concurrently if exists/],
  [
    "two subcommands",
    "alter table leads add column a int, add column b int;",
    /one subcommand per ALTER TABLE/,
  ],
  [
    "two tables in one transaction",
    "alter table leads add column a int; alter table contacts add column a int;",
    /keeps leads and contacts locked together/,
  ],
  [
    "a default that changes",
    "alter table leads add column a uuid default gen_random_uuid();",
    /not a constant/,
  ],
  [
    "a new column not null without default",
    "alter table leads add column a int not null;",
    /needs a default/,
  ],
  [
    "a check with a new column",
    "alter table leads add column a int check (a > 0);",
    /as NOT VALID/,
  ],
  [
    "a reference with a new column",
    "alter table leads add column a int references x;",
    /as NOT VALID/,
  ],
  ["a serial column", "alter table leads add column a bigserial;", /rewrites the table/],
  [
    "a constraint without a name",
    "alter table leads add check (a > 0) not valid;",
    /constraint needs a name/,
  ],
  [
    "a check that is validated at once",
    "alter table leads add constraint c check (a > 0);",
    /add NOT VALID/,
  ],
  [
    "a foreign key that is validated at once",
    "alter table leads add constraint c foreign key (a) references x;",
    /add NOT VALID/,
  ],
  [
    "a validation in the transaction of the constraint",
    "alter table leads add constraint c check (a > 0) not valid; alter table leads validate constraint c;",
    /migration per statement/,
  ],
  ["a unique constraint", "alter table leads add constraint c unique (a);", /using index/],
  [
    "set not null",
    "alter table leads alter column a set not null;",
    /check \(a is not null\) not valid/,
  ],
  [
    "set not null after the check of another column",
    `${per_statement}alter table leads add constraint c check (b is not null) not valid;
     alter table leads validate constraint c;
     alter table leads alter column a set not null;`,
    /^4: .*check \(a is not null\)/,
  ],
  ["a change of type", "alter table leads alter column a type bigint;", /rewrites the table/],
  ["an update at once", "update leads set a = 1;", /batch_of\(leads\)/],
  ["a delete at once", `${per_statement}delete from leads;`, /batch_of\(leads\)/],
  ["a copy at once", "insert into scores select * from leads;", /batch_of\(<table>\)/],
  ["batches in one transaction", "update leads set a = 1 where batch_of(leads);", /first line/],
  ["a dropped column", "alter table leads drop column a;", /-- contract:/],
  ["a dropped table", "drop table leads;", /-- contract:/],
  ["a renamed column", "alter table leads rename a to b;", /-- contract:/],
  [
    "a renamed table after another reason",
    "-- contract: x\ndrop table a;\nalter table b rename to c;",
    /^3: /,
  ],
  ["a transaction of its own", "begin; commit;", /TransactionStmt is not a statement/],
  ["a rewrite", "vacuum full leads;", /VacuumStmt is not a statement/],
  ["a switch of logging", "alter table leads set unlogged;", /not an alteration/],
  [
    "a string that the runner cannot split",
    `${per_statement}comment on table leads is E'it\\'s; a';`,
    /backslash escapes/,
  ],
];

test("several subcommands and a constraint without a name fail on a new table too", () => {
  const sql = `create table tags (account_id bigint);
    alter table tags add column a int, add column b int;
    alter table tags add check (a > 0);`;
  assert.deepEqual(checkMigration(sql), [
    "2: write one subcommand per ALTER TABLE",
    "3: a constraint needs a name",
  ]);
});

for (const [title, sql, problem] of failing) {
  test(`${title} fails on an existing table`, () => {
    const problems = checkMigration(sql);
    assert.ok(
      problems.some((text) => problem.test(text)),
      problems.join("\n"),
    );
  });
}

test("names the line of the statement below its comments", () => {
  const sql = "-- é;\ncreate table t ();\n\n-- Why.\nupdate leads set a = 1;\n";
  assert.match(checkMigration(sql).join(), /^5: changes all rows of leads/);
});

test("does not check the migrations before it was introduced", (t) => {
  const root = mkdtempSync(join(tmpdir(), "migrations-"));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "migrations"));
  const files = ["migrations/0069-old.sql", "migrations/0070-new.sql"];
  for (const file of files) writeFileSync(join(root, file), "drop table leads;");
  const problems = checkMigrations(root, files);
  assert.equal(problems.length, 1);
  assert.match(problems[0]!, /^migrations\/0070-new\.sql:1: /);
});
