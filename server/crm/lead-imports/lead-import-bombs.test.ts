import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";

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
