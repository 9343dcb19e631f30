import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { makeChatNumber, makeChatTemplate } from "../../../test/support/chat-factory.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";

let api: TestApi;
let account: TestAccount;
let other: TestAccount;
let template_id: number;
let foreign_template_id: number;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  other = await makeAccount(api.app);
  const number = await makeChatNumber(api.app, account);
  template_id = await makeChatTemplate(api.app, account, number);
  const theirs = await makeChatNumber(api.app, other);
  foreign_template_id = await makeChatTemplate(api.app, other, theirs);
});
after(() => api.close());

const kinds = [
  ["/api/v1/chat/flows", 8_000_000_000_000_001, "chat_flow"],
  ["/api/v1/automation-flows", "80000000-0000-4000-8000-000000000001", "automation_flow"],
] as const;

const interactive = { type: "interactive", body: "Hello {{1}}" };
const openings: object[] = [
  interactive,
  { ...interactive, header: "{{city}}", footer: "Bye", variable_defaults: { "1": "x", city: "y" } },
  { ...interactive, buttons: [{ title: "Yes" }, { id: "n", title: "No" }, { title: "Later" }] },
  {
    ...interactive,
    list: {
      button: "Choose",
      sections: [{ title: "Days", rows: [{ id: "1", title: "Monday", description: "early" }] }],
    },
  },
  {
    ...interactive,
    flow: { flow_id: "12", cta: "Book", screen: "FIRST", data: { a: null, b: 1 } },
  },
  { ...interactive, flow: { flow_id: "12", cta: "Book" } },
];

for (const [base, unknown, subject] of kinds) testFlows(base, unknown, subject);

function testFlows(base: string, unknown: number | string, subject: string): void {
  const send = (method: string, path: string, json?: unknown, by = account, headers = {}) =>
    api.send(method, base + path, {
      token: by.token,
      headers,
      ...(json === undefined ? {} : { json }),
    });
  const add = (opening: unknown, more: object = {}) =>
    send("POST", "", { name: unique("flow"), opening, ...more });

  test(`${base}: stores every kind of opening as given, without nulls`, async () => {
    for (const opening of [...openings, { type: "template", template_id }]) {
      const { status, body, text } = await add({ ...opening, header: null, ...opening });
      assert.equal(status, 201, text);
      assert.deepEqual(body.opening, opening);
      assert.deepEqual([body.active, (await send("GET", `/${body.id}`)).body], [true, body]);
    }
  });

  test(`${base}: reports each violation of an opening with its path`, async () => {
    const button = { title: "Yes" };
    const row = { id: "1", title: "One" };
    const list = (rows: object[], more: object = {}) => ({
      ...interactive,
      list: { button: "Choose", sections: [{ title: "All", rows }], ...more },
    });
    const elevenRows = Array.from({ length: 11 }, (_, i) => ({ id: `${i}`, title: "x" }));
    const cases: [unknown, string[]][] = [
      [null, ["opening"]],
      ["hello", ["opening"]],
      [{}, ["opening.type"]],
      [{ type: "video" }, ["opening.type"]],
      [{ type: "interactive" }, ["opening.body"]],
      [{ ...interactive, body: " " }, ["opening.body"]],
      [{ ...interactive, body: "x".repeat(1_025) }, ["opening.body"]],
      [{ ...interactive, header: "x".repeat(61) }, ["opening.header"]],
      [{ ...interactive, footer: "x".repeat(61) }, ["opening.footer"]],
      [{ ...interactive, template_id }, ["opening.template_id"]],
      [{ ...interactive, surprise: 1 }, ["opening.surprise"]],
      [{ ...interactive, buttons: [] }, ["opening.buttons"]],
      [
        { ...interactive, buttons: [1, 2, 3, 4].map((i) => ({ title: `${i}` })) },
        ["opening.buttons"],
      ],
      [{ ...interactive, buttons: [{ title: "x".repeat(21) }] }, ["opening.buttons.0.title"]],
      [{ ...interactive, buttons: [button, button] }, ["opening.buttons.1"]],
      [{ ...interactive, buttons: [button, null] }, ["opening.buttons.1"]],
      [{ ...interactive, buttons: [button], flow: { flow_id: "1", cta: "x" } }, ["opening.flow"]],
      [list([{ ...row, title: "x".repeat(25) }]), ["opening.list.sections.0.rows.0.title"]],
      [list([row, row]), ["opening.list.sections.0.rows.1.id"]],
      [list(elevenRows), ["opening.list.sections.0.rows", "opening.list.sections"]],
      [list([row], { button: "x".repeat(21) }), ["opening.list.button"]],
      [
        list([], {
          sections: [0, 1].map((s) => ({
            title: "x",
            rows: elevenRows.slice(0, 6).map((one) => ({ ...one, id: `${s}${one.id}` })),
          })),
        }),
        ["opening.list.sections"],
      ],
      [{ ...interactive, flow: { flow_id: "1" } }, ["opening.flow.cta"]],
      [{ ...interactive, flow: { flow_id: "1", cta: "x", data: { a: 1 } } }, ["opening.flow.data"]],
      [
        { ...interactive, variable_defaults: { "1": "x", "2": "y" } },
        ["opening.variable_defaults.2"],
      ],
      [{ ...interactive, variable_defaults: { "1": "" } }, ["opening.variable_defaults.1"]],
      [{ type: "template" }, ["opening.template_id"]],
      [{ type: "template", template_id: "1" }, ["opening.template_id"]],
      [{ type: "template", template_id, body: "x" }, ["opening.body"]],
      [{ type: "template", template_id: 8_000_000_000_000_001 }, ["opening.template_id"]],
      [{ type: "template", template_id: foreign_template_id }, ["opening.template_id"]],
    ];
    const { id } = (await add(interactive)).body;
    for (const [opening, fields] of cases) {
      const shown = JSON.stringify(opening).slice(0, 100);
      assert.deepEqual(failingFields(await add(opening)), fields, shown);
      assert.deepEqual(failingFields(await send("PATCH", `/${id}`, { opening })), fields, shown);
    }
    assert.deepEqual((await send("GET", `/${id}`)).body.opening, interactive);
  });

  test(`${base}: names are unique, and a repeated idempotency key creates one flow`, async () => {
    const name = unique("flow");
    const headers = { "idempotency-key": unique("key") };
    const first = await send("POST", "", { name, opening: interactive }, account, headers);
    const again = await send("POST", "", { name, opening: interactive }, account, headers);
    assert.equal(again.text, first.text);
    assert.deepEqual(failingFields(await add(interactive, { name })), ["name"]);
    assert.deepEqual(failingFields(await add(interactive, { name: " " })), ["name"]);
    assert.deepEqual(failingFields(await add(interactive, { active: "yes" })), ["active"]);
    const { id } = (await add(interactive)).body;
    assert.deepEqual(failingFields(await send("PATCH", `/${id}`, { name })), ["name"]);
    assert.deepEqual(failingFields(await send("PATCH", `/${id}`, {})), ["body"]);
    assert.equal((await send("POST", "", { name, opening: interactive }, other)).status, 201);
  });

  test(`${base}: only the owning account changes, deactivates and deletes a flow, each with an audit entry`, async () => {
    const { id } = (await add(interactive, { active: null })).body;
    const opening = { type: "template", template_id };
    const patched = await send("PATCH", `/${id}`, { name: unique("new"), active: false, opening });
    assert.deepEqual([patched.body.active, patched.body.opening], [false, opening]);
    for (const [method, json] of [["GET"], ["PATCH", { active: true }], ["DELETE"]] as const) {
      assert.equal((await send(method, `/${id}`, json, other)).status, 404);
      assert.equal((await send(method, `/${unknown}`, json)).status, 404);
      assert.equal((await send(method, "/x", json)).status, 404);
    }
    assert.equal((await send("DELETE", `/${id}`)).status, 204);
    assert.equal((await send("GET", `/${id}`)).status, 404);
    const audit = await api.app.db.query
      .selectFrom("audit_entries")
      .select("action")
      .where("account_id", "=", account.account_id)
      .where("subject_id", "=", String(id))
      .where("action", "like", `${subject}.%`)
      .orderBy("id")
      .execute();
    assert.deepEqual(
      audit.map(({ action }) => action),
      ["created", "updated", "deleted"].map((verb) => `${subject}.${verb}`),
    );
  });

  test(`${base}: lists each flow exactly once across pages`, async () => {
    const by = await makeAccount(api.app);
    const ids: (number | string)[] = [];
    for (let i = 0; i < 5; i++) {
      const flow = { name: unique("flow"), opening: interactive };
      ids.push((await send("POST", "", flow, by)).body.id);
    }
    const seen: (number | string)[] = [];
    let cursor: string | null = null;
    do {
      const at: string = cursor === null ? "" : `&cursor=${cursor}`;
      const { body } = await send("GET", `?limit=2${at}`, undefined, by);
      seen.push(...body.data.map((flow: { id: number | string }) => flow.id));
      cursor = body.next_cursor;
    } while (cursor !== null);
    assert.deepEqual(
      seen,
      ids.toSorted((a, b) => (a < b ? -1 : 1)),
    );
    assert.deepEqual(failingFields(await send("GET", "?cursor=abc")), ["cursor"]);
  });
}
