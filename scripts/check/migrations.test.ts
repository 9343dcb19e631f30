import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { checkMigration, checkMigrations } from "./migrations.ts";

const per_statement = "-- transaction: per statement\n";

const passing: Readonly<Record<string, string>> = {
  "a new table with indexes, constraints and rows": `
    create table tags (account_id bigint not null, id bigint not null,
      name text not null check (name <> ''), primary key (account_id, id));
    alter table tags add constraint tags_account_id_fkey foreign key (account_id) references accounts;
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
    create index concurrently if not exists leads_by_score on leads (account_id, score);
    -- contract since 0069: leads_by_score replaces it.
    drop index concurrently if exists leads_by_old_score;`,
  "a column that becomes not null": `${per_statement}
    alter table leads add column score int;
    alter table leads alter column score set default 0;
    update leads set score = 0 where score is null and batch_of(leads);
    alter table leads add constraint leads_score_check check (score is not null) not valid;
    alter table leads validate constraint leads_score_check;
    alter table leads alter column score set not null;
    alter table leads drop constraint leads_score_check;`,
  "a unique constraint of a new column": `${per_statement}
    alter table leads add column score int;
    create unique index concurrently if not exists leads_once on leads (account_id, score);
    alter table leads add constraint leads_once unique using index leads_once;`,
  "a foreign key of a new column that is validated later": `${per_statement}
    alter table leads add column owner_id bigint;
    alter table leads add constraint leads_owner_fk
      foreign key (account_id, owner_id) references users on delete set null (owner_id) not valid;
    alter table leads validate constraint leads_owner_fk;`,
  "a check of new columns": `
    alter table leads add column score int;
    alter table leads add column kind text;
    alter table leads add constraint c check (score > 0 or lower(kind) = 'old') not valid;`,
  "rows copied and deleted in batches": `${per_statement}
    insert into scores select account_id, id from leads where batch_of(leads);
    delete from leads where score < 0 and batch_of(leads);`,
  "what takes something away, with a marker": `${per_statement}
    -- contract since 0069: nothing reads it.
    alter table leads drop column score;
    -- Not used again.
    -- contract since 0069: nothing calls it.
    drop function score_lead;
    -- contract since 0001: no version used the table.
    alter table scores rename to old_scores;
    -- contract since 0069: every call has a caller.
    alter table calls add constraint calls_caller check (caller is not null) not valid;`,
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
  [
    "a new table with a reference",
    "create table tags (id bigint references leads);",
    /reference by `alter table/,
  ],
  [
    "a new table with a reference of several columns",
    "create table tags (a int, id int, foreign key (a, id) references leads);",
    /reference by `alter table/,
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
  ["a transaction of its own", "begin; commit;", /TransactionStmt is not a statement/],
  ["a rewrite", "vacuum full leads;", /VacuumStmt is not a statement/],
  ["a switch of logging", "alter table leads set unlogged;", /not an alteration/],
  [
    "a string that the runner cannot split",
    `${per_statement}comment on table leads is E'it\\'s; a';`,
    /backslash escapes/,
  ],
];

/** The previous version notices them. */
const contracts: Readonly<Record<string, string>> = {
  "a dropped column": "alter table leads drop column a;",
  "a dropped table": "drop table leads;",
  "a dropped type": "drop type a;",
  "a dropped function": "drop function old_function(int);",
  "a dropped index": `${per_statement}drop index concurrently if exists x;`,
  "a dropped constraint": "alter table leads drop constraint c;",
  "a dropped default": "alter table leads alter column a drop default;",
  "a renamed column": "alter table leads rename a to b;",
  "a renamed table after the marker of another statement":
    "-- contract since 0069: x\ndrop table a;\nalter table b rename to c;",
  "a renamed table with a reason only": "-- contract: x\nalter table b rename to c;",
  "a column that may become null": "alter table leads alter column a drop not null;",
  "a check of an existing column": "alter table leads add constraint c check (a > 0) not valid;",
  "a check of a new and an existing column":
    "alter table leads add column a int; alter table leads add constraint c check (a > b) not valid;",
  "a new column not null whose default is not set":
    "alter table leads add column a int; alter table leads add constraint c check (a is not null) not valid;",
  "a reference of an existing column":
    "alter table leads add constraint c foreign key (a) references x on delete cascade not valid;",
  "a reference that keeps rows from being deleted":
    "alter table leads add column a int; alter table leads add constraint c foreign key (a) references x not valid;",
  "a unique index of existing columns": `${per_statement}create unique index concurrently if not exists x on leads (a);`,
  "a unique index of a new column with a default": `${per_statement}alter table leads add column a int default 0;
    create unique index concurrently if not exists x on leads (a);`,
};

for (const [title, sql] of Object.entries(contracts)) {
  test(`${title} needs a marker`, () => {
    const problems = checkMigration(sql);
    assert.equal(problems.length, 1, problems.join("\n"));
    assert.match(problems[0]!, /one release after .* `-- contract since <number>: <reason>` above/);
    assert.deepEqual(checkMigration(sql, { contracts: false }), []);
  });
}

test("a function that has a file is not dropped, even with a marker, because the previous version calls it", () => {
  const sql = "-- contract since 0069: x\ndrop function score_lead(int);";
  const [problem] = checkMigration(sql, { functions: new Set(["score_lead"]) });
  assert.match(problem!, /^2: .* give the changed function a new name/);
});

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

/** Checks migrations in a repository of their own. */
function checkFiles(t: TestContext, migrations: Readonly<Record<string, string>>): string[] {
  const root = mkdtempSync(join(tmpdir(), "migrations-"));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, "migrations/functions"), { recursive: true });
  for (const [name, sql] of Object.entries(migrations))
    writeFileSync(join(root, "migrations", name), sql);
  return checkMigrations(
    root,
    Object.keys(migrations).map((name) => `migrations/${name}`),
  );
}

test("does not check the migrations before it was introduced, nor for markers those before these were", (t) => {
  const problems = checkFiles(t, {
    "0069-old.sql": "create index x on leads (a);",
    "0070-new.sql": "create index x on leads (a);",
    "0075-old.sql": "drop table leads;",
    "0076-new.sql": "drop table leads;",
  });
  assert.equal(problems.length, 2);
  assert.match(problems[0]!, /^migrations\/0070-new\.sql:1: .*blocks writes/);
  assert.match(problems[1]!, /^migrations\/0076-new\.sql:1: .*contract since/);
});

test("a marker names an earlier migration", (t) => {
  const drop = (since: string) => `-- contract since ${since}: x\ndrop table leads;`;
  const problems = checkFiles(t, {
    "0075-score.sql": "alter table leads add column a int;",
    "0079-earlier.sql": drop("0075"),
    "0080-same.sql": drop("0080"),
    "0081-missing.sql": `\n${drop("0078")}`,
  });
  assert.deepEqual(problems, [
    "migrations/0080-same.sql:1: 0080 is not the number of an earlier migration",
    "migrations/0081-missing.sql:2: 0078 is not the number of an earlier migration",
  ]);
});
