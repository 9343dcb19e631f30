import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { after, before, test } from "node:test";
import { parse } from "csv-parse/sync";
import iconv from "iconv-lite";
import { startApi, type Answer, type TestApi } from "../../../test/support/api.ts";
import { makeCustomField, optionId } from "../../../test/support/crm-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAccount, makeAgentToken, makeUser } from "../../../test/support/account-factory.ts";
import type { TestAccount } from "../../../test/support/account-factory.ts";
import { startWorker, type BackgroundWork } from "../../worker.ts";

let api: TestApi;
let worker: BackgroundWork;

before(async () => {
  api = await startApi();
  worker = startWorker(api.app);
});
after(async () => {
  await worker.stop();
  await api.close();
});

const base = (of: TestAccount) => `/api/v1/crm/workspaces/${of.workspace_id}`;

type Part = [name: string, value: string | Blob, fileName?: string];

function form(...parts: Part[]): FormData {
  const data = new FormData();
  for (const [name, value, fileName] of parts) {
    if (typeof value === "string") data.append(name, value);
    else data.append(name, value, fileName ?? "leads.csv");
  }
  return data;
}

const file = (content: string | Buffer): Part => ["file", new Blob([content])];
const map = (columns: unknown): Part => ["columnMap", JSON.stringify(columns)];

const post = (of: TestAccount, raw: FormData | Buffer, headers: Record<string, string> = {}) =>
  api.send("POST", `${base(of)}/leads/import`, { token: of.token, raw, headers });

const upload = (of: TestAccount, content: string | Buffer, columns: unknown = { phone: "phone" }) =>
  post(of, form(file(content), map(columns)));

async function finished(of: TestAccount, id: number): Promise<Answer["body"]> {
  let found: Answer["body"];
  await eventually(async () => {
    found = (await api.send("GET", `${base(of)}/leads/imports/${id}`, of)).body;
    return found.state !== "processing";
  });
  return found;
}

/** Uploads, waits for the end, and returns the import with its leads (by phone) and rejects. */
async function importCsv(of: TestAccount, content: string | Buffer, columns?: unknown) {
  const started = await upload(of, content, columns);
  assert.equal(started.status, 202, started.text);
  const done = await finished(of, started.body.id);
  const leads = (await api.send("GET", `${base(of)}/leads?limit=200`, of)).body.data.toSorted(
    (a: { phone: string }, b: { phone: string }) => (a.phone < b.phone ? -1 : 1),
  );
  const rejects = (await api.send("GET", `${base(of)}/leads/imports/${done.id}/rejects`, of)).body;
  assert.equal(done.totalRows, done.createdCount + done.rejectedCount);
  return { started: started.body, done, leads, rejects: rejects.data };
}

const countRows = async (table: "lead_imports" | "lead_import_rows" | "leads", of: TestAccount) => {
  const { n } = await api.app.db.query
    .selectFrom(table)
    .select((eb) => eb.fn.countAll<number>().as("n"))
    .where("account_id", "=", of.account_id)
    .executeTakeFirstOrThrow();
  return n;
};

test("every mapped column becomes its field: options by label, value or id, agents by id or e-mail, custom fields by type", async () => {
  const of = await makeAccount(api.app);
  for (const [key, type] of [
    ["note", "text"],
    ["budget", "number"],
    ["vip", "boolean"],
    ["born", "date"],
  ] as const) {
    await makeCustomField(api.app, of, { key, type });
  }
  await makeCustomField(api.app, of, { key: "size", type: "select", options: ["S", "L"] });
  await makeCustomField(api.app, of, {
    key: "tags",
    type: "multiselect",
    options: ["a", "b", "c"],
  });
  const agent = await makeUser(api.app, of);
  const { email } = await api.app.db.query
    .selectFrom("users")
    .select("email")
    .where("account_id", "=", of.account_id)
    .where("id", "=", agent)
    .executeTakeFirstOrThrow();
  const content = [
    "Phone,Full name,Mail,Agent,Status,Source,Priority,Note,Budget,VIP,Born,Size,Tags,Ignored",
    `9876543210,Ada,ada@example.com,${email.toUpperCase()},WON,website,high,"a, ""b""\nc",-1.5e2,Yes,2001-02-03,l,b; A,x`,
    `9876543211,,,${agent},Won,Website,High,'=1+1,7,0,,,,`,
    "9876543212",
  ].join("\n");
  const { done, leads, started } = await importCsv(of, content, {
    phone: "Phone",
    name: "Full name",
    email: "Mail",
    assignedAgentId: "Agent",
    statusId: "Status",
    sourceId: "Source",
    priorityId: "Priority",
    "customFields.note": "Note",
    "customFields.budget": "Budget",
    "customFields.vip": "VIP",
    "customFields.born": "Born",
    "customFields.size": "Size",
    "customFields.tags": "Tags",
  });
  assert.deepEqual(
    [started.state, started.totalRows, started.createdCount, started.finishedAt],
    ["processing", 3, 0, null],
  );
  assert.deepEqual([done.state, done.createdCount, done.rejectedCount], ["completed", 3, 0]);
  assert.equal(done.fileName, "leads.csv");
  assert.ok(done.finishedAt);
  const [ada, second, third] = leads;
  assert.deepEqual(
    [ada.name, ada.email, ada.assignedAgentId, ada.status.value, ada.source.value],
    ["Ada", "ada@example.com", agent, "won", "website"],
  );
  assert.equal(ada.priority.value, "high");
  assert.deepEqual(ada.customFields, {
    note: 'a, "b"\nc',
    budget: -150,
    vip: true,
    born: "2001-02-03",
    size: "L",
    tags: ["b", "a"],
  });
  assert.deepEqual(
    [second.name, second.email, second.assignedAgentId, second.status.value],
    ["Untitled", null, agent, "won"],
  );
  assert.deepEqual(second.customFields, { note: "=1+1", budget: 7, vip: false });
  assert.deepEqual([third.status.value, third.source, third.customFields], ["new", null, {}]);
  assert.equal(third.createdBy, of.owner_id);
});

test("a cell that is the label of one option and the value of another is the label, unless it has the spelling of the value", async () => {
  const of = await makeAccount(api.app);
  const path = `${base(of)}/picklists/status/options`;
  const first = await optionId(api.app, of, "status", "new");
  const send = (method: string, at: string, json: object) =>
    api.send(method, path + at, { token: of.token, json });
  assert.equal((await send("PATCH", `/${first}`, { label: "Fresh" })).status, 200);
  const { body: second } = await send("POST", "", { label: "New" });
  assert.equal(second.value, "new_2");
  const cells = ["New", "NEW", "new", "Fresh", "new_2"];
  const rows = cells.map((cell, i) => `900000000${i},${cell}`);
  const columns = { phone: "phone", statusId: "status" };
  const { leads } = await importCsv(of, ["phone,status", ...rows].join("\n"), columns);
  assert.deepEqual(
    leads.map((lead: { statusId: number }) => lead.statusId),
    [second.id, second.id, first, first, second.id],
  );
});

test("accepts phones as people write them and stores ten digits", async () => {
  const of = await makeAccount(api.app);
  const good = [
    "+91 98765 43210",
    "919876543210",
    "09876543210",
    "00919876543210",
    "98765-43210",
    "(98765) 43210",
    " 9876543210 ",
    "'+919876543210",
    "+91 (0) 98765 43210",
    "0091 (0) 98765 43210",
  ];
  const bad = ["987654321", "+449876543210", "98765432101", "9.87654E+09", "abc", "+9876543210"];
  const { leads, rejects } = await importCsv(of, ["phone", ...good, ...bad].join("\n"));
  assert.deepEqual(
    leads.map((lead: { phone: string }) => lead.phone),
    good.map(() => "9876543210"),
  );
  assert.equal(new Set(leads.map((lead: { contactId: number }) => lead.contactId)).size, 1);
  assert.deepEqual(
    rejects.map((reject: { cells: string[] }) => reject.cells[0]),
    bad,
  );
});

test("counts the characters of a name as the API does", async () => {
  const of = await makeAccount(api.app);
  const [good, bad] = ["😀".repeat(255), "😀".repeat(256)];
  const create = (name: string) =>
    api.send("POST", `${base(of)}/leads/create`, {
      token: of.token,
      json: { phone: "9876543210", name },
    });
  assert.deepEqual([(await create(good)).status, (await create(bad)).status], [201, 422]);
  const content = `phone,name\n9876543211,${good}\n9876543212,${bad}\n`;
  const { leads, rejects } = await importCsv(of, content, { phone: "phone", name: "name" });
  assert.deepEqual(
    leads.map((lead: { name: string }) => lead.name),
    [good, good],
  );
  assert.deepEqual(
    rejects.map((reject: { cells: string[] }) => reject.cells[0]),
    ["9876543212"],
  );
});

test("lists exactly the rejected rows, each with its row number, cells and every reason", async () => {
  const of = await makeAccount(api.app);
  await makeCustomField(api.app, of, { key: "budget", type: "number", required: true });
  const columns = {
    phone: "phone",
    name: "name",
    email: "email",
    statusId: "status",
    assignedAgentId: "agent",
    "customFields.budget": "budget",
  };
  const content = [
    "phone,name,email,status,agent,budget",
    "9000000001,Fine,,,,1", // 2
    ",,,,,", // 3: empty, no row
    '123,"two\nlines",unknown,Nowhere,ghost@example.com,lots', // 4
    "", // 5: empty, no row
    `,${"x".repeat(256)},,,,`, // 6
    "9000000002,Fine too,,,,2", // 7
    "9000000003,Long row,,,,3,4", // 8
  ].join("\r\n");
  const { done, leads, rejects } = await importCsv(of, content, columns);
  assert.deepEqual([done.totalRows, done.createdCount, done.rejectedCount], [5, 2, 3]);
  assert.deepEqual(
    leads.map((lead: { name: string }) => lead.name),
    ["Fine", "Fine too"],
  );
  const phone = "must be 10 digits, with or without +91 or 0 before them";
  assert.deepEqual(rejects, [
    {
      row: 4,
      cells: ["123", "two\nlines", "unknown", "Nowhere", "ghost@example.com", "lots"],
      errors: [
        { field: "phone", reason: phone },
        { field: "email", reason: "must be a valid email address" },
        { field: "assignedAgentId", reason: "must name an active user" },
        { field: "statusId", reason: "is not a status option of this workspace" },
        { field: "customFields.budget", reason: "must be a number" },
      ],
    },
    {
      row: 6,
      cells: ["", "x".repeat(256), "", "", "", ""],
      errors: [
        { field: "phone", reason: "is required" },
        { field: "name", reason: "must have at most 255 characters" },
        { field: "customFields.budget", reason: "is required" },
      ],
    },
    {
      row: 8,
      cells: ["9000000003", "Long row", "", "", "", "3", "4"],
      errors: [{ field: "row", reason: "has more cells than the header's 6" }],
    },
  ]);
});

test("a file is read in every usual encoding, line end and delimiter", async () => {
  const rows = (delimiter: string, end: string) =>
    [`phone${delimiter}naïve`, `9000000001${delimiter}Zoë €5`, ""].join(end);
  const utf8 = Buffer.from(rows(",", "\n"));
  const cases: Record<string, Buffer> = {
    "UTF-8": utf8,
    "UTF-8 with BOM": Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), utf8]),
    "UTF-8, CRLF": Buffer.from(rows(",", "\r\n")),
    "UTF-8, CR": Buffer.from(rows(",", "\r")),
    "UTF-8, semicolons": Buffer.from(rows(";", "\r\n")),
    "UTF-16 LE, tabs": iconv.encode(rows("\t", "\r\n"), "utf16le", { addBOM: true }),
    "UTF-16 BE": iconv.encode(rows(",", "\n"), "utf16be", { addBOM: true }),
    "Windows-1252": iconv.encode(rows(",", "\r\n"), "win1252"),
    quoted: Buffer.from('"phone","naïve"\n"9000000001","Zoë €5"'),
  };
  for (const [name, content] of Object.entries(cases)) {
    const of = await makeAccount(api.app);
    const { leads } = await importCsv(of, content, { phone: "phone", name: "naïve" });
    assert.deepEqual(
      leads.map((lead: { name: string }) => lead.name),
      ["Zoë €5"],
      name,
    );
  }
});

test("UTF-8 with an invalid byte is refused with its line instead of being read as Windows-1252", async () => {
  const of = await makeAccount(api.app);
  const columns = { phone: "phone", name: "name" };
  const bom = Buffer.from([0xef, 0xbb, 0xbf]);
  const bytes = (...parts: (string | number)[]) =>
    Buffer.concat(
      parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from([part]))),
    );
  const hindi = "phone,name\r\n9000000001,राम\r\n9000000002,";
  const long = "9000000003,राम\r\n".repeat(9_000);
  for (const [line, content] of [
    [3, bytes(hindi, 0xa0, "\r\n")],
    [9_003, bytes(hindi, "\r\n", long.slice(0, -2), 0xe0, 0xa4)],
    [2, Buffer.concat([bom, bytes("phone,name\r9000000001,Zo", 0xeb, "\r")])],
  ] as const) {
    const { status, body } = await upload(of, content, columns);
    assert.equal(status, 422, String(line));
    const reason = `line ${line}: has a byte that is not valid UTF-8`;
    assert.deepEqual(body.errors, [{ field: "file", reason }]);
  }
  // Two characters of Windows-1252 that are also one of UTF-8, and two that are not.
  const western = bytes("phone,name\n9000000001,Zo", 0xeb, " Ren", 0xe9, " ", 0xc3, 0xa9, "\n");
  const { leads } = await importCsv(of, western, columns);
  assert.equal(leads[0].name, "Zoë René Ã©");
});

test("an unclosed quote is refused with its row instead of hiding the rows up to the next quote", async () => {
  const of = await makeAccount(api.app);
  const columns = { phone: "phone", name: "name" };
  for (const [row, content] of [
    [2, 'phone,name\n9000000001,"Tiny\n9000000002,"Jane"\n9000000003,Bob'],
    [3, 'phone,name\r\n9000000001,"A\r\nB"\r\n9000000002,"Tiny\r\n"9000000003","Jane"\r\n'],
    [1, 'phone,"name\n9000000001,"Tiny"\n9000000002,Jane'],
  ] as const) {
    const { status, body } = await upload(of, content, columns);
    assert.equal(status, 422, content);
    const reason = `row ${row}: a quote is not closed`;
    assert.deepEqual(body.errors, [{ field: "file", reason }]);
  }
  const { leads } = await importCsv(
    of,
    'phone,name\n9000000001,"""Hi"" she said,\nto ""Bob"" and me"\n9000000002,"Tiny" Jones\n',
    columns,
  );
  assert.deepEqual(
    leads.map((lead: { name: string }) => lead.name),
    ['"Hi" she said,\nto "Bob" and me', '"Tiny" Jones'],
  );
});

test("long runs of empty rows do not end an import early", async () => {
  const of = await makeAccount(api.app);
  const content = `phone\n9000000001\n${"\n".repeat(2_000)}bad\n9000000002${"\n".repeat(600)}`;
  const { done, leads, rejects } = await importCsv(of, content);
  assert.deepEqual([done.totalRows, leads.length, rejects[0].row], [3, 2, 2_003]);
});

test("characters and line ends across chunk boundaries stay intact", async () => {
  const of = await makeAccount(api.app);
  const count = 6_000;
  // Rows of 33 bytes with a character of three bytes and one of four: some fall on each 64 kB border.
  const line = (i: number) => `${7_000_000_000 + i},"अ😀, ""q""" ${"x".repeat(i % 3)}\r\n`;
  const content = `phone,name\r\n${Array.from({ length: count }, (_, i) => line(i)).join("")}`;
  const started = await upload(of, content, { phone: "phone", name: "name" });
  const done = await finished(of, started.body.id);
  assert.deepEqual([done.createdCount, done.rejectedCount], [count, 0]);
  const names = await api.app.db.query
    .selectFrom("leads")
    .select("name")
    .distinct()
    .where("account_id", "=", of.account_id)
    .execute();
  assert.equal(names.length, 3, JSON.stringify(names.slice(0, 9)));
  assert.ok(names.every(({ name }) => name.includes("अ😀")));
});

test("parts may come in any order", async () => {
  const of = await makeAccount(api.app);
  for (const parts of [
    [file("phone\n9000000001"), map({ phone: "phone" })],
    [map({ phone: "phone" }), file("phone\n9000000001")],
  ]) {
    assert.equal((await post(of, form(...parts))).status, 202);
  }
});

test("an invalid upload is refused with every violation and stores nothing", async () => {
  const of = await makeAccount(api.app);
  await makeCustomField(api.app, of, { key: "must", type: "text", required: true });
  const good = { phone: "phone", "customFields.must": "must" };
  const csv = "phone,must,twice,twice\n9000000001,x,,";
  const cases: [string, FormData, string[]][] = [
    ["no file", form(map(good)), ["file"]],
    ["no map", form(file(csv)), ["columnMap"]],
    ["nothing", form(["columnMap", "{"]), ["file", "columnMap"]],
    ["a list", form(file(csv), map([])), ["columnMap"]],
    ["no phone", form(file(csv), map({})), ["columnMap.phone", "columnMap.customFields.must"]],
    [
      "unknown fields",
      form(file(csv), map({ ...good, planet: "phone", "customFields.x": "phone", name: 7 })),
      ["columnMap.planet", "columnMap.customFields.x", "columnMap.name"],
    ],
    [
      "columns that are not there",
      form(file(csv), map({ ...good, name: "Name", email: "twice" })),
      ["columnMap.name", "columnMap.email"],
    ],
    ["an unknown part", form(file(csv), map(good), ["colour", "red"]), ["colour"]],
    ["a file that is text", form(["file", csv], map(good)), ["file"]],
    ["two files", form(file(csv), file(csv), map(good)), ["file"]],
    ["an empty file", form(file(""), map(good)), ["file"]],
    ["only a header", form(file("phone,must\r\n\r\n"), map(good)), ["file"]],
    ["a blank header", form(file(",,\n1,2,3"), map(good)), ["file"]],
    ["an open quote", form(file('phone,must\n1,"x\n2,y\n'), map(good)), ["file"]],
    ["NUL", form(file("phone,must\n1,\0"), map(good)), ["file"]],
    ["an image", form(file(Buffer.from("89504e470d0a1a0a0000000d", "hex")), map(good)), ["file"]],
    ["501 columns", form(file(`phone,must${",x".repeat(499)}\n1,2`), map(good)), ["file"]],
    ["a huge cell", form(file(`phone,must\n1,${"x".repeat(1_000_001)}`), map(good)), ["file"]],
  ];
  for (const [name, data, fields] of cases) {
    const { status, body } = await post(of, data);
    assert.equal(status, 422, name);
    assert.deepEqual(
      body.errors.map((error: { field: string }) => error.field),
      fields,
      name,
    );
  }
  assert.equal(await countRows("lead_imports", of), 0);
  assert.equal(await countRows("lead_import_rows", of), 0);
});

test("a body that is not multipart is 415, and malformed multipart is 400", async () => {
  const of = await makeAccount(api.app);
  const json = await api.send("POST", `${base(of)}/leads/import`, { token: of.token, json: {} });
  assert.equal(json.status, 415);
  assert.match(json.body.detail, /multipart\/form-data/);
  const broken = await post(of, Buffer.from("--x\r\nnonsense"), {
    "content-type": "multipart/form-data; boundary=x",
  });
  assert.equal(broken.status, 400, broken.text);
});

/** Where uploads are kept, those of other processes too. */
async function uploadsKept(): Promise<Set<string>> {
  const names = await readdir(tmpdir());
  return new Set(names.filter((name) => name.startsWith("trunkline-upload-")));
}

test("an interrupted upload stores no import, no rows and no temporary file", async () => {
  const others = await uploadsKept();
  const of = await makeAccount(api.app);
  const boundary = "cut";
  const outgoing = request(`${api.url}${base(of)}/leads/import`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${of.token}`,
      "content-type": `multipart/form-data; boundary=${boundary}`,
    },
  });
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  outgoing.on("close", close).on("error", () => {});
  outgoing.write(
    `--${boundary}\r\ncontent-disposition: form-data; name="columnMap"\r\n\r\n{"phone":"phone"}\r\n` +
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nphone\n`,
  );
  for (let i = 0; i < 50; i++) outgoing.write("9000000001\n".repeat(10_000));
  const { promise: written, resolve } = Promise.withResolvers<unknown>();
  outgoing.write("9000000001\n", resolve);
  await written;
  outgoing.destroy();
  await closed;
  // Later uploads work, and nothing of the interrupted one is stored.
  await importCsv(of, "phone\n9000000002");
  assert.equal(await countRows("lead_imports", of), 1);
  assert.equal(await countRows("leads", of), 1);
  await eventually(async () => [...(await uploadsKept())].every((name) => others.has(name)));
});

test("a file of more than a million rows is 422 and stores nothing", async () => {
  const of = await makeAccount(api.app);
  const { status, body } = await upload(of, `phone\n${"9000000001\n".repeat(1_000_001)}`);
  assert.equal(status, 422);
  assert.deepEqual(body.errors, [{ field: "file", reason: "has more than 1000000 rows" }]);
  assert.equal(await countRows("lead_import_rows", of), 0);
});

test("a file beyond 256 MB is 413", async () => {
  const of = await makeAccount(api.app);
  const chunk = Buffer.alloc(1_048_576, "9000000001\n");
  const blob = new Blob(Array.from({ length: 257 }, () => chunk));
  const { status, body } = await post(of, form(map({ phone: "phone" }), ["file", blob]));
  assert.deepEqual([status, body.type], [413, "body-too-large"]);
  assert.equal(await countRows("lead_imports", of), 0);
});

test("a column map and its preview take a field that another process has just added", async () => {
  const of = await makeAccount(api.app);
  const { account_id, workspace_id } = of;
  await api.app.workspaceSchemas.refresh(account_id, workspace_id);
  // Without the notification that another process would send.
  await api.app.db.pool.query(
    `insert into custom_fields (account_id, workspace_id, key, label, type, position, created_at, updated_at)
     values ($1, $2, 'just_added', 'Just added', 'text', 0, now(), now())`,
    [account_id, workspace_id],
  );
  const columns = { phone: "phone", "customFields.just_added": "note" };
  const parts = () => form(file("phone,note\n9876543210,x"), map(columns));
  const preview = await api.send("POST", `${base(of)}/leads/import/preview`, {
    token: of.token,
    raw: parts(),
  });
  assert.equal(preview.status, 200, preview.text);
  assert.equal((await post(of, parts())).status, 202);
});

test("lists rejects in pages, and as a CSV that can be corrected and imported", async () => {
  const of = await makeAccount(api.app);
  const names = ["=cmd()", "+1-1", "-x", "@y", 'say "hi"', "plain"];
  const content = ["phone,name", ...names.map((name) => `+44 12,"${name.replaceAll('"', '""')}"`)];
  const { done } = await importCsv(of, content.join("\n"), { phone: "phone", name: "name" });
  const path = `${base(of)}/leads/imports/${done.id}/rejects`;
  const first = (await api.send("GET", `${path}?limit=4`, of)).body;
  const rest = (await api.send("GET", `${path}?limit=4&cursor=${first.nextCursor}`, of)).body;
  assert.deepEqual(
    [...first.data, ...rest.data].map((reject: { row: number }) => reject.row),
    [2, 3, 4, 5, 6, 7],
  );
  assert.equal(rest.nextCursor, null);

  const csv = await api.send("GET", `${path}?format=csv`, of);
  assert.equal(csv.headers.get("content-type"), "text/csv; charset=utf-8");
  const audit = await api.send("GET", "/api/v1/audit?action=lead_rejects.exported", of);
  assert.deepEqual(
    audit.body.data.map((entry: { subject_id: string }) => entry.subject_id),
    [String(done.id)],
  );
  const accepted = await api.send("GET", path, { ...of, headers: { accept: "text/csv" } });
  assert.equal(accepted.text, csv.text);
  const [header, ...rows] = parse(csv.text);
  assert.deepEqual(header, ["phone", "name", "errors"]);
  assert.deepEqual(rows[0], [
    "+44 12",
    "'=cmd()",
    "phone: must be 10 digits, with or without +91 or 0 before them",
  ]);
  assert.ok(rows.every((row) => !/^[=+\-@]/.test(row[1]!) || row[1] === "+1-1"));

  const corrected = csv.text.replaceAll("+44 12", "9000000001");
  const again = await importCsv(of, corrected, { phone: "phone", name: "name" });
  assert.deepEqual(
    again.leads.map((lead: { name: string }) => lead.name).toSorted(),
    names.toSorted(),
  );
});

test("the CSV of rejects keeps every cell of the file, so that an uncorrected row is rejected again", async () => {
  const of = await makeAccount(api.app);
  const columns = { phone: "phone", name: "name", email: "errors" };
  const csvOf = async (content: string, by: unknown) => {
    const { done, rejects } = await importCsv(of, content, by);
    const path = `${base(of)}/leads/imports/${done.id}/rejects?format=csv`;
    const answer = await api.send("GET", path, of);
    assert.equal(answer.status, 200, answer.text);
    const rows: string[][] = parse(answer.text, { relax_column_count: true });
    return { done, rejects, text: answer.text, rows };
  };
  const named = { phone: "phone", name: "name" };
  const content = "phone,name,note\n9000000011,Doe,John,met\n12,Ada,one";
  const first = await csvOf(content, named);
  const reasons = [
    "row: has more cells than the header's 3",
    "phone: must be 10 digits, with or without +91 or 0 before them",
  ];
  assert.deepEqual(first.rows, [
    ["phone", "name", "note", "errors"],
    ["9000000011", "Doe", "John", reasons[0], "met"],
    ["12", "Ada", "one", reasons[1]],
  ]);
  // The column of an earlier CSV of rejects is replaced.
  const again = await csvOf(first.text, named);
  assert.deepEqual(
    again.rejects.map(({ errors }: { errors: { field: string }[] }) => errors[0]!.field),
    ["row", "phone"],
  );
  assert.deepEqual(again.rows[0], first.rows[0]);
  assert.deepEqual(again.rows[1]!.toSpliced(3, 1), ["9000000011", "Doe", "John", "met"]);
  // A column of that name is the file's own otherwise, and a map still names it alone.
  const own = await csvOf("phone,name,errors\n12,Ada,ada@a.example", columns);
  assert.deepEqual(own.rows, [
    ["phone", "name", "errors", "errors 2"],
    ["12", "Ada", "ada@a.example", reasons[1]],
  ]);
  const corrected = await csvOf(own.text.replace("12,", "9000000012,"), columns);
  assert.equal(corrected.done.createdCount, 1);
  const unmapped = await csvOf("name,errors,phone,errors 2\nAda,mine,12,too", { phone: "phone" });
  assert.deepEqual(unmapped.rows, [
    ["name", "errors", "phone", "errors 2", "errors 3"],
    ["Ada", "mine", "12", "too", reasons[1]],
  ]);
});

test("imports are visible only to their account, with crm.import", async () => {
  const of = await makeAccount(api.app);
  const stranger = await makeAccount(api.app);
  const { done } = await importCsv(of, "phone\n1");
  const list = (await api.send("GET", `${base(of)}/leads/imports`, of)).body;
  assert.deepEqual(list, { data: [done], nextCursor: null });
  for (const path of ["", `/${done.id}`, `/${done.id}/rejects`, `/${done.id}/rejects?format=csv`]) {
    const theirs = await api.send("GET", `${base(of)}/leads/imports${path}`, stranger);
    assert.equal(theirs.status, 404, path);
    const crossed = await api.send("GET", `${base(stranger)}/leads/imports${path}`, stranger);
    assert.equal(crossed.status, path === "" ? 200 : 404, path);
    const reader = await makeAgentToken(api.app, of, ["crm.read", "crm.write", "crm.export"]);
    const agents = await api.send("GET", `${base(of)}/leads/imports${path}`, { token: reader });
    assert.equal(agents.status, 403, path);
  }
  const foreign = await api.send("POST", `${base(of)}/leads/import`, {
    token: stranger.token,
    raw: form(file("phone\n1"), map({ phone: "phone" })),
  });
  assert.equal(foreign.status, 404);
  const agent = await makeUser(api.app, stranger);
  const named = await importCsv(of, `phone,agent\n9000000001,${agent}`, {
    phone: "phone",
    assignedAgentId: "agent",
  });
  assert.equal(named.done.rejectedCount, 1, "another account's user cannot be an agent");
});

test("a row that only the database rejects is rejected alone", async () => {
  const of = await makeAccount(api.app);
  await api.app.db.pool.query(
    `alter table leads add constraint no_voldemort check (name <> 'Voldemort' or account_id <> ${of.account_id})`,
  );
  const { done, leads, rejects } = await importCsv(
    of,
    "phone,name\n9000000003,Ron\n9000000001,Voldemort\n9000000002,Harry\n",
    { phone: "phone", name: "name" },
  );
  await api.app.db.pool.query("alter table leads drop constraint no_voldemort");
  assert.deepEqual([done.state, done.createdCount, done.rejectedCount], ["completed", 2, 1]);
  assert.deepEqual(leads.map((lead: { name: string }) => lead.name).toSorted(), ["Harry", "Ron"]);
  assert.deepEqual(rejects, [
    {
      row: 3,
      cells: ["9000000001", "Voldemort"],
      errors: [{ field: "row", reason: "could not be stored" }],
    },
  ]);
});

test("an import whose workspace became inactive fails with a reason that stays readable", async () => {
  const of = await makeAccount(api.app);
  await worker.stop();
  const started = await upload(of, "phone\n9000000001");
  await api.app.db.query
    .updateTable("workspaces")
    .set({ active: false })
    .where("account_id", "=", of.account_id)
    .execute();
  await api.app.workspaceSchemas.refresh(of.account_id, of.workspace_id);
  worker = startWorker(api.app);
  const done = await finished(of, started.body.id);
  assert.deepEqual([done.state, done.failure], ["failed", "The workspace is not active"]);
  assert.ok(done.finishedAt);
  assert.equal(await countRows("lead_import_rows", of), 0);
  assert.equal((await api.send("GET", `${base(of)}/leads/imports`, of)).body.data.length, 1);
  assert.equal((await upload(of, "phone\n9000000001")).status, 404);
});

test("an option archived while an import waits is not used", async () => {
  const of = await makeAccount(api.app);
  await worker.stop();
  const started = await upload(of, "phone,status\n9000000001,won\n9000000002,new", {
    phone: "phone",
    statusId: "status",
  });
  await api.app.db.query
    .updateTable("picklist_options")
    .set({ archived_at: new Date() })
    .where("account_id", "=", of.account_id)
    .where("value", "=", "won")
    .execute();
  worker = startWorker(api.app);
  const done = await finished(of, started.body.id);
  assert.deepEqual([done.createdCount, done.rejectedCount], [1, 1]);
});

test("rows with a value of a custom field that was archived while an import waits are rejected", async () => {
  const of = await makeAccount(api.app);
  await makeCustomField(api.app, of, { key: "note", type: "text" });
  await worker.stop();
  const started = await upload(of, "phone,note\n9000000001,call at noon\n9000000002,", {
    phone: "phone",
    "customFields.note": "note",
  });
  await api.app.db.query
    .updateTable("custom_fields")
    .set({ archived_at: new Date() })
    .where("account_id", "=", of.account_id)
    .execute();
  worker = startWorker(api.app);
  const done = await finished(of, started.body.id);
  assert.deepEqual([done.createdCount, done.rejectedCount], [1, 1]);
  const { body } = await api.send("GET", `${base(of)}/leads/imports/${done.id}/rejects`, of);
  assert.deepEqual(body.data, [
    {
      row: 2,
      cells: ["9000000001", "call at noon"],
      errors: [{ field: "customFields.note", reason: "is not a custom field of this workspace" }],
    },
  ]);
});

const preview = (of: TestAccount, content: string, columns?: unknown) =>
  api.send("POST", `${base(of)}/leads/import/preview`, {
    token: of.token,
    raw: form(file(content), ...(columns === undefined ? [] : [map(columns)])),
  });

test("a preview shows the columns and the first rows, and guesses the map by headers and numbers", async () => {
  const of = await makeAccount(api.app);
  await makeCustomField(api.app, of, { key: "remark", type: "text" });
  const named = await preview(
    of,
    "Mobile No.,Full Name,E-mail,Stage,REMARK,Other\n98765 43210,Ada,a@b.example,New,x,y\n",
  );
  assert.equal(named.status, 200, named.text);
  assert.deepEqual(named.body, {
    header: ["Mobile No.", "Full Name", "E-mail", "Stage", "REMARK", "Other"],
    rows: [{ row: 2, cells: ["98765 43210", "Ada", "a@b.example", "New", "x", "y"] }],
    columnMap: {
      phone: "Mobile No.",
      name: "Full Name",
      email: "E-mail",
      statusId: "Stage",
      "customFields.remark": "REMARK",
    },
    check: null,
  });
  const unnamed = await preview(of, "Who,Where\nAda,9876543210\nBob,+91 9876543211\n");
  assert.deepEqual(unnamed.body.columnMap, { phone: "Where" });
  const doubled = await preview(of, "phone,phone\n1,2\n");
  assert.deepEqual(doubled.body.columnMap, {});
});

test("a preview reports exactly the rejects of the import, and stores nothing", async () => {
  const of = await makeAccount(api.app);
  const columns = { phone: "Phone", email: "Mail", assignedAgentId: "Agent", statusId: "Status" };
  const content = [
    "Phone,Mail,Agent,Status",
    "9876543210,a@example.com,,new",
    "12,b@example.com,unknown@example.com,new",
    "",
    "9876543211,not an address,,Unheard of",
    "13,,,",
    "9876543212,,,,surplus",
  ].join("\n");
  const { body } = await preview(of, content, columns);
  assert.equal(body.check.checkedCount, 5);
  assert.equal(body.check.rejectedCount, 4);
  assert.equal(body.check.complete, true);
  assert.deepEqual(body.check.reasons[0], {
    field: "phone",
    reason: "must be 10 digits, with or without +91 or 0 before them",
    count: 2,
  });
  assert.equal(await countRows("lead_imports", of), 0);
  assert.equal(await countRows("leads", of), 0);
  const { rejects, done } = await importCsv(of, content, columns);
  assert.equal(done.rejectedCount, body.check.rejectedCount);
  assert.deepEqual(body.check.rejects, rejects);
});

test("a preview of a long file checks its beginning and says so", async () => {
  const of = await makeAccount(api.app);
  const rows = Array.from({ length: 20_000 }, (_, i) => (i % 1_000 === 0 ? "12" : "9876543210"));
  const whole = await preview(of, ["phone", ...rows].join("\n"), { phone: "phone" });
  assert.deepEqual(
    [whole.body.check.checkedCount, whole.body.check.rejectedCount, whole.body.check.complete],
    [20_000, 20, true],
  );
  const longer = await preview(of, ["phone", ...rows, "12", ""].join("\n"), { phone: "phone" });
  assert.deepEqual(
    [longer.body.check.checkedCount, longer.body.check.rejectedCount, longer.body.check.complete],
    [20_000, 20, false],
  );
});

test("a preview refuses what the import would refuse, with every violation", async () => {
  const of = await makeAccount(api.app);
  const wrong = await preview(of, "phone\n9876543210", { phone: "Number", nme: "phone" });
  assert.deepEqual(
    wrong.body.errors.map(({ field }: { field: string }) => field),
    ["columnMap.nme"],
  );
  const absent = await preview(of, "phone\n9876543210", { phone: "Number" });
  assert.deepEqual(absent.body.errors, [
    { field: "columnMap.phone", reason: "is not a column of the file" },
  ]);
  for (const [content, reason] of [
    ["", "is empty"],
    ["phone\n", "has no rows below its header"],
    ['phone\n"98', "row 2: a quote is never closed"],
  ] as const)
    assert.deepEqual((await preview(of, content)).body.errors, [{ field: "file", reason }]);
});

test("an import that is repeated under its Idempotency-Key is one import with the same response", async () => {
  const of = await makeAccount(api.app);
  const headers = { "idempotency-key": "import-1" };
  const send = (content: string) => post(of, form(file(content), map({ phone: "phone" })), headers);
  const content = "phone\n9876543210";
  const both = await Promise.all([send(content), send(content)]);
  const late = await send(content);
  assert.deepEqual(
    [...both, late].map(({ status }) => status),
    [202, 202, 202],
  );
  assert.equal(new Set([...both, late].map(({ text }) => text)).size, 1);
  assert.equal(late.headers.get("idempotency-replayed"), "true");
  assert.equal(await countRows("lead_imports", of), 1);
  const other = await send("phone\n9876543211");
  assert.deepEqual(other.body.errors, [
    { field: "Idempotency-Key", reason: "was already used for another request" },
  ]);
  await finished(of, late.body.id);
  assert.equal(await countRows("leads", of), 1);
});
