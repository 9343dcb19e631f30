import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { runLeadImports } from "./run-lead-imports.ts";

let api: TestApi;
let account: TestAccount;
before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

async function reasonAgainst(content: Buffer): Promise<string> {
  const raw = new FormData();
  raw.append("columnMap", '{"phone":"phone"}');
  raw.append("file", new Blob([new Uint8Array(content)]), "leads.csv");
  const path = `/api/v1/crm/workspaces/${account.workspace_id}/leads/import`;
  const answer = await api.send("POST", path, { token: account.token, raw });
  assert.equal(answer.status, 422, answer.text);
  assert.equal(answer.body.errors[0].field, "file");
  return answer.body.errors[0].reason;
}

const megabytes = (count: number, sign: string) => Buffer.alloc(count * 1_048_576, sign);

test("a row of millions of empty cells is refused before it fills the memory", async () => {
  const reason = "has a line of more than 1000000 characters";
  for (const head of ["phone\n", ""]) {
    const file = Buffer.concat([Buffer.from(head), megabytes(30, ",")]);
    assert.equal(await reasonAgainst(file), reason);
  }
  assert.match(await reasonAgainst(Buffer.from("a,".repeat(400_000))), /more than 500 columns/);
});

test("a file of millions of empty rows is refused before it has been read to its end", async () => {
  const file = Buffer.concat([Buffer.from("phone\n"), megabytes(8, "\n")]);
  assert.equal(await reasonAgainst(file), "has more than 2000000 rows, including empty ones");
});

test("a quote that is never closed, and a file of nothing else, are refused", async () => {
  const open = Buffer.concat([Buffer.from('phone\n"'), megabytes(8, "a\n")]);
  assert.match(await reasonAgainst(open), /^row 2: has more than 1000000 characters/);
  assert.match(await reasonAgainst(megabytes(8, '"')), /more than 1000000 characters/);
});

test("a record of 80,000 quoted cells that begin with a quote and contain a line break is refused", async () => {
  const cells = Array.from({ length: 80_000 }, (_, i) => `"""\n${String(i).padStart(5, "0")}"`);
  const file = Buffer.from(`${cells.join(",")}\n`);
  assert.equal(await reasonAgainst(file), "row 1: has more than 500 columns");
});

test("rows of a megabyte are imported in batches, and rejects listed in pages, of a few megabytes", async () => {
  const rows = 12;
  const raw = new FormData();
  raw.append("columnMap", '{"phone":"phone"}');
  raw.append(
    "file",
    new Blob(["phone\n", `${"\x01".repeat(990_000)}\n`.repeat(rows)]),
    "leads.csv",
  );
  const path = `/api/v1/crm/workspaces/${account.workspace_id}/leads/import`;
  const { status, body } = await api.send("POST", path, { token: account.token, raw });
  assert.equal(status, 202);
  const rejected: number[] = [];
  for (let done = 0; done < rows;) {
    await runLeadImports(api.app, new AbortController().signal);
    done = (await api.send("GET", `${path}s/${body.id}`, account)).body.rejectedCount;
    rejected.push(done);
  }
  assert.deepEqual(rejected, [5, 10, 12]);
  const rejects = `${path}s/${body.id}/rejects`;
  const pages: number[][] = [];
  for (let cursor = ""; ;) {
    const page = (await api.send("GET", `${rejects}?limit=200${cursor}`, account)).body;
    pages.push(page.data.map(({ row }: { row: number }) => row));
    if (page.nextCursor === null) break;
    cursor = `&cursor=${page.nextCursor}`;
  }
  assert.deepEqual(pages, [
    [2, 3, 4, 5, 6],
    [7, 8, 9, 10, 11],
    [12, 13],
  ]);
  const csv = await api.send("GET", `${rejects}?format=csv`, account);
  assert.equal(csv.text.split("\r\n").length, rows + 2);
});

test(
  "a number of 900,000 digits and 490,000 choices in one cell are one reject each, at once",
  { timeout: 60_000 },
  async () => {
    const { app } = api;
    const fields = `/api/v1/crm/workspaces/${account.workspace_id}/custom-fields`;
    const options = Array.from({ length: 200 }, (_, i) => `option ${i}`);
    for (const field of [
      { key: "score", label: "Score", type: "number" },
      { key: "tags", label: "Tags", type: "multiselect", options },
    ]) {
      const { status, text } = await api.send("POST", fields, {
        token: account.token,
        json: field,
      });
      assert.equal(status, 201, text);
    }
    const form = () => {
      const raw = new FormData();
      const map = { phone: "phone", "customFields.score": "score", "customFields.tags": "tags" };
      raw.append("columnMap", JSON.stringify(map));
      const rows = [
        "phone,score,tags",
        `9876543210,${"1".repeat(900_000)}x,`,
        `9876543210,,${"a;".repeat(490_000)}`,
        "9876543210,-1.5e2,OPTION 1; option 2",
      ];
      raw.append("file", new Blob([rows.join("\n")]), "leads.csv");
      return raw;
    };
    const shown = options.slice(0, 20).join(", ");
    const reasons = [
      [{ field: "customFields.score", reason: "must be a number" }],
      [{ field: "customFields.tags", reason: `must be a list of ${shown} and 180 more` }],
    ];
    const path = `/api/v1/crm/workspaces/${account.workspace_id}/leads/import`;
    const preview = await api.send("POST", `${path}/preview`, {
      token: account.token,
      raw: form(),
    });
    assert.equal(preview.status, 200, preview.text);
    const { checkedCount, rejects } = preview.body.check;
    assert.equal(checkedCount, 3);
    assert.deepEqual(
      rejects.map(({ errors }: { errors: unknown }) => errors),
      reasons,
    );
    const started = await api.send("POST", path, { token: account.token, raw: form() });
    assert.equal(started.status, 202, started.text);
    await runLeadImports(app, new AbortController().signal);
    const { data } = (await api.send("GET", `${path}s/${started.body.id}/rejects`, account)).body;
    assert.deepEqual(
      data.map(({ errors }: { errors: unknown }) => errors),
      reasons,
    );
    const leads = path.replace(/\/import$/, "");
    const [lead] = (await api.send("GET", leads, account)).body.data;
    assert.deepEqual(lead.customFields, { score: -150, tags: ["option 1", "option 2"] });
  },
);
