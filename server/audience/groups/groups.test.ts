import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import pg from "pg";
import { assertProblem } from "../../../test/contract/lead-api.ts";
import { startApi, type Answer, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  makeAccount,
  makeAgentToken,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { csvParsing } from "../../lib/csv/csv-parsing.ts";
import { chat_format } from "../../chat/campaigns/intake/recipient-format.ts";
import { openBatchSource, readGroup } from "../recipients/recipient-source.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { clearGroup } from "./clear-group.ts";
import { openGroupMembers, type GroupMember } from "./group-members.ts";
import type { Refusal } from "../../lib/errors.ts";
import { findGroup } from "./groups.ts";

const never = new AbortController().signal;
let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

const path = "/api/v1/groups";
const request = (
  method: string,
  under: string,
  json?: unknown,
  of: Pick<TestAccount, "token"> = account,
  headers: Record<string, string> = {},
) => api.send(method, `${path}${under}`, { token: of.token, json, headers });

/** Creates a group and returns its id. */
const makeGroup = async (of = account) =>
  (await request("POST", "", { name: unique("group") }, of)).body.id as number;
const addMembers = (id: number, members: unknown, of = account) =>
  request("POST", `/${id}/members`, { members }, of);
const membersOf = async (id: number, query = "", of = account) =>
  (await request("GET", `/${id}/members?${query}`, undefined, of)).body.data as Answer["body"][];
const countOf = async (id: number) => (await request("GET", `/${id}`)).body.members_count as number;

const upload = (
  id: number,
  csv: string | null,
  fields: Record<string, string> = {},
  of = account,
) => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  if (csv !== null) form.set("file", new Blob([csv]), "members.csv");
  return api.send("POST", `${path}/${id}/members/import`, { token: of.token, raw: form });
};

/** Returns the batches that a campaign reads from a group. */
async function readBatches(id: number, of = account): Promise<(readonly GroupMember[])[]> {
  const batches: (readonly GroupMember[])[] = [];
  for await (const batch of openGroupMembers(api.app.db.pool, of.account_id, id))
    batches.push(batch);
  return batches;
}

test("a group is created, read, listed, renamed and deleted with its members", async () => {
  const name = unique("group");
  const created = await request("POST", "", { name });
  assert.equal(created.status, 201);
  const { id } = created.body;
  assert.deepEqual(
    { ...created.body, name, members_count: 0, updated_at: created.body.created_at },
    created.body,
  );
  assert.deepEqual((await request("GET", `/${id}`)).body, created.body);
  const listed = await request("GET", "?limit=200");
  assert.deepEqual(listed.body.data[0], created.body);
  const renamed = await request("PATCH", `/${id}`, { name: `${name}!` });
  assert.deepEqual([renamed.status, renamed.body.name], [200, `${name}!`]);
  await addMembers(id, [{ phone_number: "9876543210" }]);
  const deleted = await request("DELETE", `/${id}`);
  assert.deepEqual([deleted.status, deleted.text], [204, ""]);
  for (const [method, under] of [
    ["GET", `/${id}`],
    ["DELETE", `/${id}`],
    ["GET", `/${id}/members`],
  ]) {
    assert.equal((await request(method!, under!)).status, 404, `${method} ${under}`);
  }
  assert.deepEqual(await readBatches(id), []);
});

test("a group name is unique in the account, and every invalid field is reported", async () => {
  const name = unique("group");
  await request("POST", "", { name });
  const id = await makeGroup();
  const taken = [{ field: "name", reason: "is already the name of a group" }];
  assert.deepEqual((await request("POST", "", { name })).body.errors, taken);
  assert.deepEqual((await request("PATCH", `/${id}`, { name })).body.errors, taken);
  const cases: [unknown, string[]][] = [
    [{}, ["name"]],
    [{ name: "" }, ["name"]],
    [{ name: "  " }, ["name"]],
    [{ name: "n".repeat(256) }, ["name"]],
    [{ name: 1 }, ["name"]],
    [{ name: "x", nam: "y" }, ["nam"]],
  ];
  for (const [json, fields] of cases) {
    assert.deepEqual(failingFields(await request("POST", "", json)), fields);
  }
  assert.equal((await request("PATCH", `/${id}`, {})).status, 422);
  const other = await makeAccount(api.app);
  assert.equal((await request("POST", "", { name }, other)).status, 201);
});

test("groups are listed newest first with their counts, a page at a time", async () => {
  const of = await makeAccount(api.app);
  const ids = [await makeGroup(of), await makeGroup(of), await makeGroup(of)];
  await addMembers(ids[1]!, [{ phone_number: "9000000001" }, { phone_number: "9000000002" }], of);
  const first = (await request("GET", "?limit=2", undefined, of)).body;
  assert.deepEqual(
    first.data.map((group: Answer["body"]) => [group.id, group.members_count]),
    [
      [ids[2], 0],
      [ids[1], 2],
    ],
  );
  const second = (await request("GET", `?cursor=${first.next_cursor}`, undefined, of)).body;
  assert.deepEqual([second.data.length, second.data[0].id, second.next_cursor], [1, ids[0], null]);
  assert.deepEqual(failingFields(await request("GET", "?cursor=x")), ["cursor"]);
});

test("a member's variables are listed as they were sent, also under keys with line breaks", async () => {
  const id = await makeGroup();
  const variables = { "a\nb": "x", "a\r\nb": "y", "a\u2028b": "z", "\u2029": "", a: "b" };
  await addMembers(id, [{ phone_number: "9876543210", variables }]);
  assert.deepEqual((await membersOf(id))[0]!.variables, variables);
});

test("members are added once per phone, listed by phone and removed", async () => {
  const id = await makeGroup();
  const answer = await addMembers(id, [
    { phone_number: "+91 98765 43210", name: "Ada", variables: { "1": "Ada", code: "A1" } },
    { phone_number: "9000000001" },
    { phone_number: "919876543210", name: "Ada again" },
    { phone_number: "+14155552671", name: "", variables: null },
  ]);
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.body, { added_count: 3, updated_count: 0, duplicate_count: 1 });
  const members = await membersOf(id);
  assert.deepEqual(
    members.map(({ id: _id, created_at: _at, ...rest }) => rest),
    [
      { phone_number: "14155552671", name: null, variables: {} },
      { phone_number: "919000000001", name: null, variables: {} },
      { phone_number: "919876543210", name: "Ada", variables: { "1": "Ada", code: "A1" } },
    ],
  );
  assert.equal(await countOf(id), 3);
  assert.deepEqual(await membersOf(id, "phone_number=%2B14155552671"), [members[0]]);
  const removed = await request("DELETE", `/${id}/members/${members[0].id}`);
  assert.deepEqual([removed.status, removed.text], [204, ""]);
  assert.equal((await request("DELETE", `/${id}/members/${members[0].id}`)).status, 404);
  assert.equal(await countOf(id), 2);
});

test("a member with the phone of an existing member replaces it", async () => {
  const id = await makeGroup();
  await addMembers(id, [{ phone_number: "9876543210", name: "Ada", variables: { "1": "x" } }]);
  const [earlier] = await membersOf(id);
  const answer = await addMembers(id, [
    { phone_number: "9876543210", variables: { "2": "y" } },
    { phone_number: "9876543211" },
  ]);
  assert.deepEqual(answer.body, { added_count: 1, updated_count: 1, duplicate_count: 0 });
  const [later] = await membersOf(id);
  assert.deepEqual(later, { ...earlier, name: null, variables: { "2": "y" } });
});

test("pages of members are contiguous for phones of any length", async () => {
  const id = await makeGroup();
  await addMembers(
    id,
    ["+4712345678", "+14155552671", "9000000001", "+4915112345678", "+390612345678"].map(
      (phone_number) => ({ phone_number }),
    ),
  );
  const phones: string[] = [];
  for (let cursor = ""; ;) {
    const { body } = await request("GET", `/${id}/members?limit=2${cursor}`);
    phones.push(...body.data.map((member: Answer["body"]) => member.phone_number));
    if (body.next_cursor === null) break;
    cursor = `&cursor=${body.next_cursor}`;
  }
  assert.deepEqual(phones, [
    "14155552671",
    "390612345678",
    "4712345678",
    "4915112345678",
    "919000000001",
  ]);
  for (const query of ["cursor=x", `cursor=${Buffer.from("a").toString("base64url")}`])
    assert.deepEqual(failingFields(await request("GET", `/${id}/members?${query}`)), ["cursor"]);
});

test("reports every invalid field of new members at once and adds none", async () => {
  const id = await makeGroup();
  const good = { phone_number: "9876543210" };
  const cases: [unknown, string[]][] = [
    [undefined, ["members"]],
    [[], ["members"]],
    [{}, ["members"]],
    [[good, {}], ["members.1.phone_number"]],
    [
      [{ phone_number: "12" }, good, { phone_number: "x" }],
      ["members.0.phone_number", "members.2.phone_number"],
    ],
    [[{ phone_number: 9876543210 }], ["members.0.phone_number"]],
    [[{ ...good, name: "n".repeat(256) }], ["members.0.name"]],
    [[{ ...good, variables: { "1": 1 } }], ["members.0.variables.1"]],
    [[{ ...good, variables: { "1": "v".repeat(4_097) } }], ["members.0.variables.1"]],
    [
      [{ ...good, variables: { "a\nb": 5, "\u2028": null } }],
      ["members.0.variables.a\nb", "members.0.variables.\u2028"],
    ],
    [[{ ...good, variables: [] }], ["members.0.variables"]],
    [[{ ...good, phone: "1" }], ["members.0.phone"]],
    [[null], ["members.0"]],
    [Array.from({ length: 10_001 }, () => good), ["members"]],
  ];
  for (const [members, fields] of cases) {
    assert.deepEqual(failingFields(await addMembers(id, members)), fields);
  }
  assert.equal(await countOf(id), 0);
});

test("one request adds ten thousand members with variables", async () => {
  const id = await makeGroup();
  const members = Array.from({ length: 10_000 }, (_, i) => ({
    phone_number: `9${String(i).padStart(9, "0")}`,
    name: `Member ${i}`,
    variables: { "1": `Member ${i}`, "2": "a value of some length, as values are ".repeat(3) },
  }));
  const { status, body } = await addMembers(id, members);
  assert.deepEqual([status, body.added_count], [200, 10_000]);
  const batches = await readBatches(id);
  assert.deepEqual(
    batches.map(({ length }) => length),
    [5_000, 5_000],
  );
  assert.deepEqual(batches[1]!.at(-1), {
    phone: "919000009999",
    // The name is also a variable.
    variables: { ...members[9_999]!.variables, name: "Member 9999" },
  });
});

test("a batch of members has a few megabytes of variables, and the batches have all members", async () => {
  const id = await makeGroup();
  // Compressed, these variables take a hundredth of the space.
  await api.app.db.pool.query(
    `insert into group_members (account_id, group_id, phone_key, phone, variables, created_at)
     select $1, $2, phone, phone, case when i between 10 and 27 then
       jsonb_build_object('1', repeat('unpaid ', 150000)) else '{"1": "short"}' end, now()
     from generate_series(1, 40) i, lateral (select (919800000000 + i)::text as phone) p`,
    [account.account_id, id],
  );
  const batches = await readBatches(id);
  const bytes = batches.map((batch) => JSON.stringify(batch).length);
  assert.ok(Math.max(...bytes) < 6_000_000, bytes.join(" "));
  const phones = batches.flat().map(({ phone }) => Number(phone) - 919_800_000_000);
  assert.deepEqual(
    phones,
    Array.from({ length: 40 }, (_, i) => i + 1),
  );
  const read = openBatchSource(chat_format, 40, () =>
    readGroup(
      api.app.db.pool,
      { account_id: account.account_id, group_id: id, field: "group_id" },
      ({ phone, variables }) => ({ phone, variables: JSON.stringify(variables) }),
    ),
  );
  assert.equal(await read.readFew!(), null, "too long for one statement");
  let lines = 0;
  for await (const chunk of read.lines("")) {
    assert.ok(chunk.length < 6_000_000, `${chunk.length} bytes`);
    lines += new TextDecoder().decode(chunk).split("\n").length - 1;
  }
  assert.equal(lines, 40);
  assert.equal(read.summary().valid, 40);
});

test("a group that is deleted while a campaign reads it is 422, instead of a campaign for a part of it", async () => {
  const id = await makeGroup();
  await api.app.db.pool.query(
    `insert into group_members (account_id, group_id, phone_key, phone, variables, created_at)
     select $1, $2, phone, phone, '{}', now()
     from generate_series(1, 5001) i, lateral (select (919800000000 + i)::text as phone) p`,
    [account.account_id, id],
  );
  const group = { account_id: account.account_id, group_id: id, field: "group_id" };
  const read = async () => {
    for await (const rows of readGroup(api.app.db.pool, group, ({ phone }) => ({ phone }))) {
      assert.equal(rows.length, 5_000);
      assert.equal((await request("DELETE", `/${id}`)).status, 204);
    }
  };
  await assert.rejects(read, (error: Refusal) => {
    assert.deepEqual(error.errors, [
      { field: "group_id", reason: "is not a group of this account" },
    ]);
    return true;
  });
});

test("a campaign reads all members by phone, and none of another group or account", async () => {
  const [id, sibling] = [await makeGroup(), await makeGroup()];
  const other = await makeAccount(api.app);
  await addMembers(id, [
    { phone_number: "9000000002", variables: { "1": "two" } },
    { phone_number: "9000000001" },
  ]);
  await addMembers(sibling, [{ phone_number: "9000000003" }]);
  assert.deepEqual(await readBatches(id), [
    [
      { phone: "919000000001", variables: {} },
      { phone: "919000000002", variables: { "1": "two" } },
    ],
  ]);
  assert.deepEqual(await readBatches(id, other), []);
  const { query } = api.app.db;
  assert.equal((await findGroup(query, account.account_id, id))?.members_count, 2);
  assert.equal(await findGroup(query, other.account_id, id), null);
  for (const unknown of [0, -1, 2 ** 63, 999_999_999])
    assert.equal(await findGroup(query, account.account_id, unknown), null);
});

test("the rows of a file become members, and its other columns become their variables", async () => {
  const id = await makeGroup();
  await addMembers(id, [{ phone_number: "9000000002", name: "Old", variables: { old: "x" } }]);
  const csv = [
    "Full name;1;Mobile;city;",
    "Ada;Ada L.;9000000001;London;ignored",
    "Bob;;+91 90000 00002;;",
    "Cid;c;12;Paris;",
    "Ada again;x;+919000000001;;",
    `${"n".repeat(256)};${"v".repeat(4_097)};9000000005;;`,
  ].join("\n");
  const answer = await upload(id, csv, { phone_number_column: "Mobile", name_column: "Full name" });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.body, {
    total_rows: 5,
    added_count: 1,
    updated_count: 1,
    duplicate_count: 1,
    rejected_count: 2,
    rejects: [
      {
        row_number: 4,
        errors: [
          {
            field: "phone_number",
            reason: "must be a phone number: ten digits, or + and the country code",
          },
        ],
      },
      {
        row_number: 6,
        errors: [
          { field: "name", reason: "must have at most 255 characters" },
          { field: "1", reason: "must have at most 4096 characters" },
        ],
      },
    ],
  });
  assert.deepEqual(
    (await membersOf(id)).map(({ phone_number, name, variables }) => [
      phone_number,
      name,
      variables,
    ]),
    [
      ["919000000001", "Ada", { "1": "Ada L.", city: "London" }],
      ["919000000002", "Bob", {}],
    ],
  );
});

test("a file counts the characters of names and variables as the API does", async () => {
  const id = await makeGroup();
  const row = (phone: number, more: number) =>
    `${phone},${"😀".repeat(255 + more)},${"😀".repeat(4_096 + more)}`;
  const csv = ["phone_number,name,1", row(9000000001, 0), row(9000000002, 1)].join("\n");
  const { body, text } = await upload(id, csv);
  assert.deepEqual([body.added_count, body.rejected_count], [1, 1], text);
});

test("a row with more cells than the header is rejected, because its values may be shifted; blank cells are accepted", async () => {
  const id = await makeGroup();
  const rows = ["9000000001,Rao, Anil,1500", '9000000002,"Rao, Anil",1500, ,'];
  const answer = await upload(id, ["phone_number,name,amount", ...rows].join("\n"));
  const reason = "has more cells than the header's 3";
  assert.deepEqual(answer.body.rejects, [{ row_number: 2, errors: [{ field: "row", reason }] }]);
  const [member, ...others] = await membersOf(id);
  assert.deepEqual([member.phone_number, member.name], ["919000000002", "Rao, Anil"]);
  assert.deepEqual(others, []);
});

test("a file that waited for others of its account dates the group's change when it is stored", async (t) => {
  const id = await makeGroup();
  const parsing = t.mock.method(csvParsing, "use");
  const { promise: first, resolve: end } = Promise.withResolvers<void>();
  const running = csvParsing.use(account.account_id, () => first);
  const file = upload(id, "phone_number\n9870000881\n");
  await eventually(() => parsing.mock.callCount() === 2);
  const later = new Date(api.clock.now().getTime() + 60_000);
  api.clock.set(later);
  end();
  await running;
  assert.equal((await file).status, 200);
  const { body } = await request("GET", `/${id}`);
  assert.equal(body.updated_at, later.toISOString());
});

test("a file with the columns phone_number and name needs no other fields", async () => {
  const id = await makeGroup();
  await upload(id, 'phone_number,name,__proto__\n9000000001,Ada,"a ""quoted"" \\ value"\n');
  const [member] = await membersOf(id);
  assert.deepEqual(
    [member.name, Object.entries(member.variables)],
    ["Ada", [["__proto__", 'a "quoted" \\ value']]],
  );
  await upload(id, "phone_number\n9000000002\n");
  assert.equal(await countOf(id), 2);
});

test("reports the violations of a file of members and adds none", async () => {
  const id = await makeGroup();
  const csv = "phone_number,name\n9000000001,Ada\n";
  const cases: [string | null, Record<string, string>, string[]][] = [
    [null, {}, ["file"]],
    ["", {}, ["file"]],
    ["mobile\n9000000001\n", {}, ["phone_number_column"]],
    [
      csv,
      { phone_number_column: "mobile", name_column: "who" },
      ["phone_number_column", "name_column"],
    ],
    ["phone_number,a,a\n9000000001,1,2\n", {}, ["file"]],
    [`phone_number,${"h".repeat(256)}\n9000000001,1\n`, {}, ["file"]],
    [csv, { column: "x" }, ["column"]],
  ];
  for (const [file, fields, failing] of cases) {
    assert.deepEqual(failingFields(await upload(id, file, fields)), failing);
  }
  assert.equal(await countOf(id), 0);
});

test("concurrent requests that add the same members in different orders add each once and count correctly", async () => {
  const id = await makeGroup();
  const members = Array.from({ length: 500 }, (_, i) => ({
    phone_number: `9${String(i).padStart(9, "0")}`,
  }));
  const csv = ["phone_number", ...members.map(({ phone_number }) => phone_number)].join("\n");
  const answers = await Promise.all([
    addMembers(id, members),
    addMembers(id, members.toReversed()),
    upload(id, csv),
    addMembers(id, members),
  ]);
  for (const { status, text } of answers) assert.equal(status, 200, text);
  const added = answers.reduce((sum, { body }) => sum + (body.added_count as number), 0);
  assert.equal(added, 500);
  assert.equal(await countOf(id), 500);
});

test("a group whose members an earlier version changed is counted, and its count kept from the next change on", async () => {
  const id = await makeGroup();
  await addMembers(id, [{ phone_number: "9800000001" }, { phone_number: "9800000002" }]);
  // An earlier version sets updated_at, and knows no count.
  await api.app.db.pool.query(
    "delete from group_members where account_id = $1 and group_id = $2 and phone_key = '919800000001'",
    [account.account_id, id],
  );
  await api.app.db.pool.query(
    "update groups set updated_at = updated_at + interval '1 s' where account_id = $1 and id = $2",
    [account.account_id, id],
  );
  assert.equal(await countOf(id), 1);
  const isKept = async () => {
    const { rows } = await api.app.db.pool.query<{ is_kept: boolean | null }>(
      "select members_counted_at = updated_at as is_kept from groups where account_id = $1 and id = $2",
      [account.account_id, id],
    );
    return rows[0]!.is_kept;
  };
  await request("PATCH", `/${id}`, { name: unique("renamed") });
  assert.notEqual(await isKept(), true);
  assert.equal(await countOf(id), 1);
  await addMembers(id, [{ phone_number: "9800000002" }, { phone_number: "9800000003" }]);
  assert.equal(await isKept(), true);
  assert.equal(await countOf(id), 2);
  await request("PATCH", `/${id}`, { name: unique("renamed") });
  assert.equal(await isKept(), true);
});

test("a group deleted while members are added deletes them or refuses them", async () => {
  for (let round = 0; round < 5; round++) {
    const id = await makeGroup();
    const [added, deleted] = await Promise.all([
      addMembers(id, [{ phone_number: "9000000001" }]),
      request("DELETE", `/${id}`),
    ]);
    assert.equal(deleted.status, 204);
    assert.ok([200, 404].includes(added.status), added.text);
    assert.deepEqual(await readBatches(id), []);
  }
});

test("a group of any size is deleted at once and its name is free; its members are deleted in batches", async () => {
  const of = await makeAccount(api.app);
  const { account_id } = of;
  const name = unique("group");
  const make = () => request("POST", "", { name }, of);
  const [id, kept] = [(await make()).body.id as number, await makeGroup(of)];
  const db = api.app.db.query;
  await sql`
    insert into group_members (account_id, group_id, phone_key, phone, name, created_at)
    select ${account_id}, case when n > 100 then ${id}::bigint else ${kept} end, phone, phone, 'Member', now()
    from generate_series(1, 4600) n, concat('91', 9000000000 + n) phone`.execute(db);
  const count = async () => {
    const { rows } = await sql<{ counts: string }>`
      select concat_ws(' ', (select count(*) from groups where account_id = ${account_id}),
        (select count(*) from group_members where account_id = ${account_id})) as counts`.execute(
      db,
    );
    return rows[0]!.counts;
  };
  // A locked member stands for members that take longer to delete than a request may.
  const reading = new pg.Client({ connectionString: api.database_url });
  await reading.connect();
  try {
    await reading.query("begin");
    await reading.query("select from group_members where group_id = $1 limit 1 for share", [id]);
    assert.equal((await request("DELETE", `/${id}`, undefined, of)).status, 204);
  } finally {
    await reading.end();
  }
  const again = await make();
  assert.equal(again.status, 201);
  const listed = (await request("GET", "", undefined, of)).body.data as Answer["body"][];
  assert.deepEqual(
    listed.map((group) => group.id),
    [again.body.id, kept],
  );
  const gone = await Promise.all([
    request("GET", `/${id}`, undefined, of),
    request("PATCH", `/${id}`, { name: "Again" }, of),
    request("DELETE", `/${id}`, undefined, of),
    request("GET", `/${id}/members`, undefined, of),
    addMembers(id, [{ phone_number: "9876543210" }], of),
  ]);
  for (const answer of gone) assertProblem(answer, 404, "not-found");
  assert.deepEqual(await readBatches(id, of), []);
  for (const q of ["Member", "9000004600", "0004600"]) {
    const { data } = (await api.send("GET", `/api/v1/people?q=${q}`, { token: of.token })).body;
    const phones = data.map((person: Answer["body"]) => person.phone_number);
    assert.ok(!phones.includes("919000004600"), q);
  }

  const clear = (subject: number, ms_max: number) =>
    clearGroup(api.app, { account_id, subject: String(subject) }, never, ms_max);
  await clear(kept, 1_000_000);
  assert.ok((await clear(id, -1))?.again_at);
  assert.equal(await count(), "3 4600");
  await eventually(async () => {
    await workJobs(api.app, { "audience.clear_group": clearGroup }, never);
    return (await count()) === "2 100";
  });
  await clear(id, 1_000_000);
});

test("a repeated idempotency key returns the same response and adds nothing twice", async () => {
  const id = await makeGroup();
  const members = [{ phone_number: "9876543210" }];
  const send = () =>
    request("POST", `/${id}/members`, { members }, account, { "idempotency-key": `k${id}` });
  const first = await send();
  const again = await send();
  assert.deepEqual([again.status, again.text], [200, first.text]);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
});

test("groups are read with groups.read and changed only with groups.manage", async () => {
  const reader = { token: await makeAgentToken(api.app, account, ["groups.read"]) };
  const id = await makeGroup();
  assert.equal((await request("GET", `/${id}/members`, undefined, reader)).status, 200);
  const members = [{ phone_number: "9876543210" }];
  for (const [method, under, json] of [
    ["POST", "", { name: "x" }],
    ["PATCH", `/${id}`, { name: "x" }],
    ["DELETE", `/${id}`, undefined],
    ["POST", `/${id}/members`, { members }],
    ["DELETE", `/${id}/members/1`, undefined],
  ] as const) {
    assert.equal((await request(method, under, json, reader)).status, 403, `${method} ${under}`);
  }
  assert.equal((await api.send("GET", path)).status, 401);
});

test("another account's group and members return the same responses as unknown ones", async () => {
  const other = await makeAccount(api.app);
  const id = await makeGroup();
  await addMembers(id, [{ phone_number: "9876543210" }]);
  const [member] = await membersOf(id);
  const members = [{ phone_number: "9876543210" }];
  for (const [method, under, json] of [
    ["GET", `/${id}`, undefined],
    ["PATCH", `/${id}`, { name: "x" }],
    ["DELETE", `/${id}`, undefined],
    ["GET", `/${id}/members`, undefined],
    ["POST", `/${id}/members`, { members }],
    ["DELETE", `/${id}/members/${member.id}`, undefined],
  ] as const) {
    assert.equal((await request(method, under, json, other)).status, 404, `${method} ${under}`);
  }
  assert.equal((await upload(id, "phone_number\n9000000001\n", {}, other)).status, 404);
  // A member of one group is not found in another.
  const sibling = await makeGroup();
  assert.equal((await request("DELETE", `/${sibling}/members/${member.id}`)).status, 404);
  assert.equal(await countOf(id), 1);
});

test("the audit trail records changes of groups and members, without names and numbers", async () => {
  const of = await makeAccount(api.app);
  const id = await makeGroup(of);
  await request("PATCH", `/${id}`, { name: "Renamed" }, of);
  await addMembers(id, [{ phone_number: "9876543210", name: "Ada" }], of);
  await upload(id, "phone_number\n9876543210\n9876543211\n", {}, of);
  const [member] = await membersOf(id, "", of);
  await request("DELETE", `/${id}/members/${member.id}`, undefined, of);
  await request("DELETE", `/${id}`, undefined, of);
  const audit = await api.send("GET", `/api/v1/audit?subject_id=${id}`, { token: of.token });
  const entries = audit.body.data.filter((entry: { action: string }) =>
    entry.action.includes("group"),
  );
  assert.deepEqual(
    entries.map((entry: Answer["body"]) => [entry.action, entry.detail]),
    [
      ["group.deleted", {}],
      ["group_member.removed", { member_id: member.id }],
      ["group_members.imported", { added: 1, updated: 1 }],
      ["group_members.added", { added: 1, updated: 0 }],
      ["group.updated", { changed: ["name"] }],
      ["group.created", {}],
    ],
  );
});
