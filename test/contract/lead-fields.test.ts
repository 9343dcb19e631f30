// Contract 4.1 and 8: what each field of a lead takes, and how it is refused.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { assertProblem, startLeadApi, type LeadApi } from "./lead-api.ts";

let lead: LeadApi;

before(async () => {
  lead = await startLeadApi();
});
after(() => lead.api.close());

const phone = "9876543210";
const fieldsOf = (body: { errors: { field: string }[] }) => body.errors.map(({ field }) => field);

test("phone is required", async () => {
  assert.equal(await lead.refuse({}, "phone"), "is required");
  assert.equal(await lead.refuse({ name: "Ada" }, "phone"), "is required");
});

test("phone takes exactly 10 digits and nothing else", async () => {
  for (const good of ["0000000000", "9876543210", "1234567890"]) {
    const answer = await lead.create({ phone: good });
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.body.phone, good);
  }
  const bad = [
    "",
    "987654321",
    "98765432101",
    "987654321a",
    "+919876543210",
    "919876543210",
    " 9876543210",
    "9876543210 ",
    "9876543210\n",
    "98765 43210",
    "98765-43210",
    "(987)654321",
    "+987654321",
    "-987654321",
    "1e10",
    "٩٨٧٦٥٤٣٢١٠",
    "９８７６５４３２１０",
    9876543210,
    987654321.5,
    null,
    true,
    ["9876543210"],
    { number: "9876543210" },
  ];
  for (const value of bad) {
    assert.equal(
      await lead.refuse({ phone: value }, "phone"),
      `must be exactly 10 digits${typeof value === "string" ? "" : ", as a string"}`,
    );
  }
});

test('name is "Untitled" when omitted, null or empty, else as sent', async () => {
  for (const body of [{ phone }, { phone, name: null }, { phone, name: "" }]) {
    assert.equal((await lead.create(body)).body.name, "Untitled");
  }
  for (const name of ["A", " ", "Zoë 🙂", "x".repeat(255), "<script>", "'; drop table leads; --"]) {
    assert.equal((await lead.create({ phone, name })).body.name, name);
  }
});

test("name takes at most 255 characters, a character outside the basic plane counting once", async () => {
  assert.equal((await lead.create({ phone, name: "🙂".repeat(255) })).status, 201);
  assert.match(await lead.refuse({ phone, name: "x".repeat(256) }, "name"), /255/);
});

test("email takes a valid email address as it is", async () => {
  for (const email of ["a@b.co", "First.Last+tag@sub.example.com", "o'neil@example.org"]) {
    const answer = await lead.create({ phone, email });
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.body.email, email);
  }
});

test("an invalid email fails, including the empty string", async () => {
  const tooLong = `${"x".repeat(250)}@example.com`;
  for (const email of [
    "",
    " ",
    "plain",
    "a@",
    "@b.co",
    "a b@c.co",
    "a@b c.co",
    "a@b.co\n",
    tooLong,
  ]) {
    assert.match(await lead.refuse({ phone, email }, "email"), /email|254/, email);
  }
});

test("null equals omitted for every optional field", async () => {
  const bare = await lead.create({ phone });
  const nulls = await lead.create({
    phone,
    name: null,
    email: null,
    assignedAgentId: null,
    contactId: null,
    statusId: null,
    sourceId: null,
    priorityId: null,
    customFields: null,
  });
  assert.equal(nulls.status, 201, nulls.text);
  const { id: _a, createdAt: _b, updatedAt: _c, ...expected } = bare.body;
  const { id: _d, createdAt: _e, updatedAt: _f, ...found } = nulls.body;
  assert.deepEqual(found, expected);
});

test("types are strict: nothing is coerced", async () => {
  const wrong: Record<string, unknown[]> = {
    name: [1, true, ["x"], { x: 1 }],
    email: [1, false, ["a@b.co"], {}],
    assignedAgentId: ["1", 1.5, true, [1], {}, ""],
    contactId: ["1", 1.5, true, [1], {}, ""],
    statusId: ["1", 1.5, false, [1], {}, ""],
    sourceId: ["1", 0.1, true, [], {}, ""],
    priorityId: ["1", -1.5, true, [1], {}, ""],
    customFields: ["{}", 1, true, [], [["a", 1]], ""],
  };
  for (const [field, values] of Object.entries(wrong)) {
    for (const value of values) {
      assert.match(await lead.refuse({ phone, [field]: value }, field), /^must be /);
    }
  }
});

test("an integer written with a fraction of zero or an exponent is that integer", async () => {
  const statusId = (await lead.create({ phone })).body.statusId;
  for (const text of [`${statusId}.0`, `${statusId}e0`, `${statusId}0e-1`]) {
    const answer = await lead.createRaw(`{"phone":"${phone}","statusId":${text}}`);
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.body.statusId, statusId);
  }
});

const unknown_ids = [
  "0",
  "-1",
  "-0",
  "9007199254740991",
  "9007199254740992",
  "9007199254740993",
  "9223372036854775807",
  "-9223372036854775808",
];
const overlong_ids = [
  "9223372036854775808",
  "-9223372036854775809",
  "18446744073709551616",
  "1e999",
  "-1e999",
  "1e19",
  `1${"0".repeat(400)}`,
];

test("an agent id that fits 64 bits and matches no user is INVALID_AGENT", async () => {
  for (const id of unknown_ids) {
    const answer = await lead.createRaw(`{"phone":"${phone}","assignedAgentId":${id}}`);
    assertProblem(answer, 400, "INVALID_AGENT");
  }
});

test("a contact id that fits 64 bits and matches no contact is INVALID_CONTACT", async () => {
  for (const id of unknown_ids) {
    const answer = await lead.createRaw(`{"phone":"${phone}","contactId":${id}}`);
    assertProblem(answer, 400, "INVALID_CONTACT");
  }
});

test("an option id that fits 64 bits and matches no option fails on its field", async () => {
  for (const field of ["statusId", "sourceId", "priorityId"]) {
    for (const id of unknown_ids) {
      const answer = await lead.createRaw(`{"phone":"${phone}","${field}":${id}}`);
      assertProblem(answer, 422, "validation-failed");
      assert.deepEqual(fieldsOf(answer.body), [field]);
    }
  }
});

test("an id beyond 64 bits fails on its field", async () => {
  for (const field of ["assignedAgentId", "contactId", "statusId", "sourceId", "priorityId"]) {
    for (const id of overlong_ids) {
      const answer = await lead.createRaw(`{"phone":"${phone}","${field}":${id}}`);
      assertProblem(answer, 422, "validation-failed");
      assert.deepEqual(fieldsOf(answer.body), [field], `${field} ${id}`);
    }
  }
});

test("an unknown field fails and the reason names the field that was meant", async () => {
  assert.equal(await lead.refuse({ phone, nme: "x" }, "nme"), "unknown field; did you mean name?");
  assert.equal(
    await lead.refuse({ phone, source_id: 1 }, "source_id"),
    "unknown field; did you mean sourceId?",
  );
  assert.equal(await lead.refuse({ phone, xyzzy: 1 }, "xyzzy"), "unknown field");
  for (const name of ["constructor", "toString", "hasOwnProperty", "id", "createdBy"]) {
    await lead.refuse({ phone, [name]: 1 }, name);
  }
  const proto = await lead.createRaw(`{"phone":"${phone}","__proto__":{"admin":true}}`);
  assertProblem(proto, 422, "validation-failed");
  assert.deepEqual(fieldsOf(proto.body), ["__proto__"]);
});

test("reports every invalid field at once with its reason", async () => {
  const answer = await lead.create({
    phone: "1",
    name: 5,
    email: "x",
    assignedAgentId: "a",
    contactId: "b",
    statusId: -5,
    sourceId: "c",
    priorityId: 999_999,
    customFields: { unheard: 1 },
    colour: "red",
  });
  assertProblem(answer, 422, "validation-failed");
  assert.deepEqual(fieldsOf(answer.body).toSorted(), [
    "assignedAgentId",
    "colour",
    "contactId",
    "customFields.unheard",
    "email",
    "name",
    "phone",
    "priorityId",
    "sourceId",
    "statusId",
  ]);
});

test("reports at most 100 invalid fields", async () => {
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`extra${i}`, i]));
  const answer = await lead.create({ phone, ...many });
  assertProblem(answer, 422, "validation-failed");
  assert.equal(answer.body.errors.length, 100);
});

test("a JSON body that is not an object fails as a body", async () => {
  for (const raw of ["[]", '"text"', "1", "true", "null", '[{"phone":"9876543210"}]']) {
    const answer = await lead.createRaw(raw);
    assertProblem(answer, 422, "validation-failed");
    assert.deepEqual(fieldsOf(answer.body), ["body"]);
  }
});

test("a NUL or half a surrogate pair fails on the field that holds it", async () => {
  for (const escape of ["\\u0000", "\\ud800", "\\udc00", "a\\uD83Db"]) {
    for (const field of ["name", "email"]) {
      const answer = await lead.createRaw(`{"phone":"${phone}","${field}":"${escape}"}`);
      assertProblem(answer, 422, "validation-failed");
      assert.deepEqual(fieldsOf(answer.body), [field]);
    }
    const key = await lead.createRaw(`{"phone":"${phone}","customFields":{"${escape}":1}}`);
    assertProblem(key, 422, "validation-failed");
  }
  const pair = await lead.createRaw(`{"phone":"${phone}","name":"\\ud83d\\ude42"}`);
  assert.equal(pair.body.name, "🙂");
});

test("nesting beyond 32 levels fails, 100,000 levels too", async () => {
  for (const depth of [33, 1_000, 100_000]) {
    const open = "[".repeat(depth);
    const nested = await lead.createRaw(`{"phone":"${phone}","customFields":{"a":${open}`);
    assertProblem(nested, 422, "validation-failed");
    const closedToo = `{"phone":"${phone}","customFields":{"a":${open}${"]".repeat(depth)}}}`;
    assertProblem(await lead.createRaw(closedToo), 422, "validation-failed");
  }
});

test("the last of a repeated key counts", async () => {
  const answer = await lead.createRaw(`{"phone":"1","phone":"${phone}"}`);
  assert.equal(answer.body.phone, phone);
});

test("a refused lead creates neither a lead nor a contact", async () => {
  const count = await lead.leadCount();
  await lead.refuse({ phone: "9111111111", email: "x" }, "email");
  assertProblem(
    await lead.create({ phone: "9111111111", assignedAgentId: 0 }),
    400,
    "INVALID_AGENT",
  );
  assert.equal(await lead.leadCount(), count);
  const contacts = await lead.api.app.db.query
    .selectFrom("contacts")
    .select("id")
    .where("account_id", "=", lead.account.account_id)
    .where("phone", "=", "9111111111")
    .execute();
  assert.deepEqual(contacts, []);
});
