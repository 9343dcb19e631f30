// The order of errors when several apply: 401, 403, 400 for the body, 404, 422, 400.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Answer } from "../support/api.ts";
import { makeAccount, makeAgentToken, type TestAccount } from "../support/account-factory.ts";
import { insertWorkspace } from "../../server/crm/workspaces/insert-workspace.ts";
import { assertProblem, leadPath, startLeadApi, type LeadApi } from "./lead-api.ts";

let lead: LeadApi;
let other: TestAccount;
let inactive: number;

before(async () => {
  lead = await startLeadApi();
  other = await makeAccount(lead.api.app);
  inactive = await lead.api.app.db.query
    .transaction()
    .execute((tx) =>
      insertWorkspace(
        tx,
        lead.account.account_id,
        { name: "Closed", active: false },
        lead.api.app.clock.now(),
      ),
    );
});
after(() => lead.api.close());

const post = (
  workspace: number | string,
  token: string | undefined,
  raw: string,
): Promise<Answer> =>
  lead.api.send("POST", leadPath(workspace), {
    token,
    raw,
    headers: { "content-type": "application/json" },
  });

test("when several checks fail, the errors come in the order 401, 403, 400 for the body, 404, 422, 400", async () => {
  const { workspace_id, token } = lead.account;
  const powerless = await makeAgentToken(lead.api.app, lead.account, []);
  const invalid = '{"phone":"1","assignedAgentId":0,"contactId":0}';
  const unknownAgent = '{"phone":"9876543210","assignedAgentId":0,"contactId":0}';
  const unknownContact = '{"phone":"9876543210","contactId":0}';
  assertProblem(await post(other.workspace_id, "nonsense", "{"), 401, "unauthorized");
  assertProblem(await post(other.workspace_id, powerless, "{"), 403, "forbidden");
  assertProblem(await post(other.workspace_id, token, "{"), 400, "malformed-body");
  assertProblem(await post(other.workspace_id, token, invalid), 404, "not-found");
  assertProblem(await post(workspace_id, token, invalid), 422, "validation-failed");
  assertProblem(await post(workspace_id, token, unknownAgent), 400, "INVALID_AGENT");
  assertProblem(await post(workspace_id, token, unknownContact), 400, "INVALID_CONTACT");
  assert.equal((await post(workspace_id, token, '{"phone":"9876543210"}')).status, 201);
});

test("an unknown workspace outranks every 422, including those found while the body is parsed", async () => {
  const bodies = [
    "[]",
    '{"phone":"1","foo":1}',
    '{"phone":"9876543210","name":"\\u0000"}',
    '{"phone":"9876543210","statusId":9223372036854775808}',
    `{"customFields":${"[".repeat(100_000)}`,
  ];
  for (const body of bodies) {
    assertProblem(await post(other.workspace_id, lead.account.token, body), 404, "not-found");
    assertProblem(
      await post(lead.account.workspace_id, lead.account.token, body),
      422,
      "validation-failed",
    );
  }
});

test("an unknown, foreign, inactive or non-integer workspace is 404, with the same body except request_id", async () => {
  const workspaces = [
    "999999999",
    other.workspace_id,
    inactive,
    "abc",
    "0",
    "-1",
    "1.5",
    "1.0",
    "1e1",
    `0x${lead.account.workspace_id.toString(16)}`,
    `%20${lead.account.workspace_id}`,
    `+${lead.account.workspace_id}`,
    `0${lead.account.workspace_id}`,
    "null",
    "true",
    "%00",
    "%F0%9F%99%82",
    "__proto__",
    "9007199254740991",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "9".repeat(400),
  ];
  const texts = new Set<string>();
  for (const workspace of workspaces) {
    const answer = await post(workspace, lead.account.token, '{"phone":"9876543210"}');
    assertProblem(answer, 404, "not-found");
    texts.add(answer.text.replace(answer.body.request_id, "request"));
  }
  assert.equal(texts.size, 1, [...texts].join("\n"));
});

test("a missing token outranks every other error: an unknown workspace, a malformed body and a wrong Content-Type are 401", async () => {
  assertProblem(await post("abc", undefined, "{"), 401, "unauthorized");
  const wrongType = await lead.api.send("POST", leadPath("abc"), {
    raw: "x",
    headers: { "content-type": "text/plain" },
  });
  assertProblem(wrongType, 401, "unauthorized");
});
