// Contract 4.1 and 7.1: the accepted forms of a request, and errors at the level of HTTP.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { assertProblem, leadPath, startLeadApi, type LeadApi } from "./lead-api.ts";

let lead: LeadApi;

before(async () => {
  lead = await startLeadApi();
});
after(() => lead.api.close());

const good = '{"phone":"9876543210"}';

test("a body that is not JSON is 400 malformed-body", async () => {
  const broken = [
    "",
    " ",
    "{",
    '{"phone":"9876543210"',
    '{"phone":"9876543210",}',
    "{'phone':'9876543210'}",
    `${good}${good}`,
    '{"phone":9876543210,"name":01}',
    '{"phone":NaN}',
    '{"name":"a\nb"}',
    "phone=9876543210",
    "undefined",
    "\u0000",
    "]",
  ];
  for (const raw of broken) assertProblem(await lead.createRaw(raw), 400, "malformed-body");
});

test("a body that is not UTF-8 is 400 malformed-body", async () => {
  for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]]) {
    const raw = Buffer.concat([
      Buffer.from('{"phone":"9876543210","name":"'),
      Buffer.from(bytes),
      Buffer.from('"}'),
    ]);
    assertProblem(await lead.createRaw(raw), 400, "malformed-body");
  }
  const utf16 = Buffer.from(`\ufeff${good}`, "utf16le");
  assertProblem(await lead.createRaw(utf16), 400, "malformed-body");
});

test("a byte order mark and white space around the JSON are accepted", async () => {
  assert.equal((await lead.createRaw(`\ufeff${good}`)).status, 201);
  assert.equal((await lead.createRaw(` \r\n\t${good}\n`)).status, 201);
});

test("a malformed-body error never quotes the body", async () => {
  const answer = await lead.createRaw('{"phone":"9876543210","name":"Secret Person"');
  assert.doesNotMatch(answer.text, /Secret|98765/);
});

test("a body without Content-Type is read as JSON", async () => {
  const headers = {
    authorization: `Bearer ${lead.account.token}`,
    "content-length": String(good.length),
  };
  const request = rawRequest(`POST ${leadPath(lead.account.workspace_id)}`, headers, good);
  const answer = await sendRaw(lead.api.url, [request]);
  assert.equal(answer?.status, 201, answer?.text);
});

test("the Content-Type is accepted in any letter case and with any charset", async () => {
  const types = [
    "application/json",
    "APPLICATION/JSON",
    "Application/Json; Charset=UTF-8",
    "application/json;charset=utf-8",
    "application/json ; charset=iso-8859-1",
    "application/json; foo=bar",
  ];
  for (const type of types) {
    const answer = await lead.createRaw(good, { "content-type": type });
    assert.equal(answer.status, 201, `${type}: ${answer.text}`);
  }
});

test("any other Content-Type is 415", async () => {
  const types = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/jsonp",
    "application/json5",
    "text/json",
    "json",
    "*/*",
  ];
  for (const type of types) {
    const answer = await lead.createRaw(good, { "content-type": type });
    assertProblem(answer, 415, "unsupported-media-type");
  }
  const form = new FormData();
  form.set("phone", "9876543210");
  const answer = await lead.create(undefined, { raw: form });
  assertProblem(answer, 415, "unsupported-media-type");
  assert.match(answer.body.detail, /application\/json/);
});

test("a body above 1 MB is 413, with Content-Length or chunked", async () => {
  const large = JSON.stringify({ phone: "9876543210", name: "x".repeat(1_048_576) });
  assertProblem(await lead.createRaw(large), 413, "body-too-large");
  const head = rawRequest(`POST ${leadPath(lead.account.workspace_id)}`, {
    authorization: `Bearer ${lead.account.token}`,
    "content-type": "application/json",
    "transfer-encoding": "chunked",
  });
  const chunk = "x".repeat(65_536);
  const chunks = Array.from({ length: 17 }, () => `10000\r\n${chunk}\r\n`);
  const answer = await sendRaw(lead.api.url, [head, ...chunks, "0\r\n\r\n"]);
  assert.equal(answer?.status, 413, answer?.text);
});

test("a body just below 1 MB is read", async () => {
  const name = "x".repeat(1_048_576 - '{"phone":"9876543210","name":""}'.length);
  const answer = await lead.create({ phone: "9876543210", name });
  assertProblem(answer, 422, "validation-failed");
});

test("a trailing slash is accepted", async () => {
  const answer = await lead.api.send("POST", `${leadPath(lead.account.workspace_id)}/`, {
    token: lead.account.token,
    json: { phone: "9876543210" },
  });
  assert.equal(answer.status, 201, answer.text);
});

test("an unsupported method is 405 with Allow, with and without a token", async () => {
  for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
    for (const token of [lead.account.token, undefined]) {
      const answer = await lead.api.send(method, leadPath(lead.account.workspace_id), { token });
      assert.equal(answer.headers.get("allow"), "POST", method);
      if (method === "HEAD") assert.equal(answer.status, 405);
      else assertProblem(answer, 405, "method-not-allowed");
    }
  }
});

test("a path without the prefix /api/v1 or with another version is 404", async () => {
  const rest = leadPath(lead.account.workspace_id).slice("/api/v1".length);
  for (const path of [rest, `/api${rest}`, `/v1${rest}`, `/api/v2${rest}`, `/API/V1${rest}`]) {
    const answer = await lead.api.send("POST", path, {
      token: lead.account.token,
      json: { phone: "9876543210" },
    });
    assertProblem(answer, 404, "not-found");
  }
});

test("every response has its own request ID, the same in the header and in the error", async () => {
  const answers = await Promise.all([
    lead.create({ phone: "9876543210" }),
    lead.create({ phone: "1" }),
    lead.create({}, { token: undefined }),
    lead.createRaw("{"),
    lead.api.send("GET", "/nowhere"),
    lead.api.send("GET", "/api/v1/%zz"),
    lead.api.send("GET", leadPath(1)),
    lead.api.send("GET", "/health/live"),
    lead.create({ phone: "1" }, { headers: { "x-request-id": "mine" } }),
  ]);
  const ids = answers.map(({ headers }) => headers.get("x-request-id"));
  for (const id of ids) assert.match(id ?? "", /^req_[0-9a-z]+$/);
  assert.equal(new Set(ids).size, ids.length);
  for (const [i, { status, body }] of answers.entries()) {
    if (status >= 400) assert.equal(body.request_id, ids[i]);
  }
});

test("every response carries the security headers and must not be stored by caches", async () => {
  const answers = [
    await lead.create({ phone: "9876543210" }),
    await lead.create({ phone: "1" }),
    await lead.create({}, { token: undefined }),
    await lead.api.send("GET", "/nowhere"),
    await lead.api.send("DELETE", leadPath(1)),
  ];
  for (const { headers, status } of answers) {
    const values = {
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    };
    for (const [name, value] of Object.entries(values)) {
      assert.equal(headers.get(name), value, `${status} ${name}`);
    }
    assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'/);
    for (const name of ["x-powered-by", "server"]) assert.equal(headers.get(name), null);
  }
});

test("bytes that are not valid HTTP get 400, and the connection is closed", async () => {
  for (const bytes of [
    "nonsense\r\n\r\n",
    "GET / HTTP/9.9\r\n\r\n",
    "\u0000\u0001\u0002\r\n\r\n",
  ]) {
    const answer = await sendRaw(lead.api.url, [bytes]);
    assert.equal(answer?.status, 400);
    assert.equal(JSON.parse(answer.text).type, "bad-request");
  }
});

test("headers above the limit are refused, and the connection is closed", async () => {
  const request = rawRequest("GET /health/live", { "x-long": "x".repeat(100_000) });
  const answer = await sendRaw(lead.api.url, [request]);
  assert.equal(answer?.status, 400);
});
