import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { parseJsonBody } from "../../lib/json-body.ts";
import { Refusal } from "../../lib/errors.ts";
import { validateLead } from "./validate-lead.ts";
import { createLeads } from "./lead-intake.ts";
import { leadRow } from "./lead-row.ts";
import { readWorkspaceSchema, type WorkspaceSchema } from "../workspaces/workspace-schema.ts";

let api: TestApi;
let account: TestAccount;
let schema: WorkspaceSchema;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  const { account_id, workspace_id, token } = account;
  const path = `/api/v1/crm/workspaces/${workspace_id}/custom-fields`;
  for (const type of ["text", "number", "boolean", "date", "select", "multiselect"]) {
    const options = type.endsWith("select") ? { options: ["red", "green"] } : {};
    for (const required of [false, true]) {
      const json = { key: `${type}_${required}`, label: type, type, required, ...options };
      assert.equal((await api.send("POST", path, { token, json })).status, 201);
    }
  }
  schema = (await readWorkspaceSchema(api.app.db.pool, account_id, workspace_id))!;
});
after(() => api.close());

/** Values that mean something to some type, beside any JSON. */
const value = fc.oneof(
  fc.constantFrom<unknown>("red", "2026-02-28", "2026-02-30", "", null, true, -0, 1e300, 5e-324),
  fc.constantFrom<unknown>(["red"], ["red", "red"], [], "\0", "\ud800", "x".repeat(5_001)),
  fc.string({ unit: "binary" }),
  fc.double(),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
  fc.jsonValue(),
);
const optionId = () =>
  fc.oneof(fc.constantFrom(...schema.options.keys()), fc.integer(), fc.constant(null), value);
const keys = () => [...schema.fields.keys()];
const customFields = () =>
  fc.oneof(
    { weight: 6, arbitrary: fc.record(Object.fromEntries(keys().map((key) => [key, value]))) },
    fc.dictionary(fc.oneof(fc.constantFrom(...keys(), "__proto__"), fc.string()), value),
    fc.jsonValue(),
  );

test("any JSON is validated without an error, as a new lead and as a patch", () => {
  const lead = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        statusId: optionId(),
        sourceId: optionId(),
        priorityId: optionId(),
        customFields: customFields(),
      },
      { requiredKeys: [] },
    ),
  );
  const validated = fc.property(lead, fc.constantFrom("new", "patch"), (body, mode) => {
    for (const { field, reason } of validateLead(schema, body, mode)) {
      assert.ok(field.length > 0 && reason.length > 0 && reason.length < 1_000);
    }
  });
  fc.assert(validated, { numRuns: 3_000 });
});

/** For each custom field a value it takes now and then, or any. */
function likelyFields() {
  const likely: Record<string, fc.Arbitrary<unknown>> = {
    text: fc.string({ unit: "grapheme", maxLength: 30 }),
    number: fc.double({ min: -1e15, max: 1e15, noNaN: true }),
    boolean: fc.boolean(),
    date: fc
      .date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
      .map((date) => date.toISOString().slice(0, 10)),
    select: fc.constantFrom("red", "green"),
    multiselect: fc.subarray(["red", "green"], { minLength: 1 }),
  };
  const record = keys().map((key) => {
    const likelyValue = likely[schema.fields.get(key)!.type]!;
    return [
      key,
      fc.oneof({ weight: 30, arbitrary: likelyValue }, { weight: 1, arbitrary: value }),
    ] as const;
  });
  return fc.record(Object.fromEntries(record));
}

test("what is accepted is stored, and read back as it was sent", async () => {
  let accepted = 0;
  const stored = fc.asyncProperty(likelyFields(), async (sent) => {
    const body = asReceived({ phone: "9876543210", customFields: sent });
    if (body === null || validateLead(schema, body).length > 0) return;
    accepted++;
    const creator = { user_id: account.owner_id, country_code: "91" };
    const row = leadRow(schema, creator, body as Parameters<typeof leadRow>[2]);
    const now = api.app.clock.now();
    const [verdict] = await createLeads(api.app.db.pool, account.account_id, [row], now);
    assert.equal(verdict!.verdict, "created");
    const { custom_fields } = await api.app.db.query
      .selectFrom("leads")
      .select("custom_fields")
      .where("account_id", "=", account.account_id)
      .where("id", "=", verdict!.lead_id!)
      .executeTakeFirstOrThrow();
    assert.deepEqual(custom_fields, row.custom_fields);
  });
  await fc.assert(stored, { numRuns: 400 });
  assert.ok(accepted > 100, `only ${accepted} were accepted`);
});

/** The value as it arrives over HTTP; null when the body itself is refused. */
function asReceived(body: unknown): unknown {
  try {
    return parseJsonBody(Buffer.from(JSON.stringify(body)));
  } catch (error) {
    assert.ok(error instanceof Refusal);
    return null;
  }
}
