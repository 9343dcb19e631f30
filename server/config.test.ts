import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { test_secret_key } from "../test/support/secrets.ts";
import { ConfigError, readConfig } from "./config.ts";

function violationsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.violations;
  }
  return [];
}

test("an empty environment runs everything on this machine", () => {
  assert.deepEqual(readConfig({}), {
    host: "127.0.0.1",
    port: 8080,
    data_dir: resolve("data"),
    database_url: null,
    replica: null,
    secret_keys: null,
    export_passphrase: null,
    roles: ["api", "worker"],
    log_level: "info",
    public_url: "http://127.0.0.1:8080",
    seed: "demo",
    lease_seconds: 10,
    chat_settle_seconds: 3_600,
    node_lost_seconds: 60,
    callback_allow: [],
    trusted_proxies: [],
    metrics_token: null,
    whatsapp_api_url: "https://graph.facebook.com/v23.0",
    whatsapp: null,
    smtp: null,
    oidc: null,
    speech_command: null,
    speech_recognize_command: null,
    realtime: null,
    tracing: null,
  });
});

test("a read replica needs its primary, and a bound of whole seconds", () => {
  const given = {
    DATABASE_READ_URL: "postgres://replica/trunkline",
    DATABASE_READ_STALENESS_SECONDS: "30",
  };
  const whole = {
    ...given,
    DATABASE_URL: "postgres://primary/trunkline",
    TRUNKLINE_SECRET_KEY: test_secret_key,
  };
  assert.deepEqual(readConfig(whole).replica, {
    url: "postgres://replica/trunkline",
    staleness_seconds: 30,
  });
  assert.deepEqual(violationsOf(given), [
    "DATABASE_READ_URL: needs DATABASE_URL, the primary of the replica",
  ]);
  assert.deepEqual(
    violationsOf({ ...whole, DATABASE_READ_URL: "replica", DATABASE_READ_STALENESS_SECONDS: "0" }),
    [
      'DATABASE_READ_STALENESS_SECONDS: "0" is not a whole number of seconds from 1 to 3600',
      "DATABASE_READ_URL: must have the form postgres://user:password@host:port/database",
    ],
  );
});

test("the identity provider needs its address and both credentials, over https or on this machine", () => {
  const given = { OIDC_ISSUER: "https://login.test.example", OIDC_CLIENT_ID: "trunkline" };
  const complete = { ...given, OIDC_CLIENT_SECRET: "s3cret" };
  assert.deepEqual(readConfig(complete).oidc, {
    issuer: "https://login.test.example",
    client_id: "trunkline",
    client_secret: "s3cret",
    label: "login.test.example",
  });
  assert.equal(readConfig({ ...complete, OIDC_LABEL: "Example" }).oidc?.label, "Example");
  assert.deepEqual(violationsOf(given), [
    "OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET: set all of them or none",
  ]);
  for (const OIDC_ISSUER of ["http://login.test.example", "login.test.example", "ftp://127.0.0.1"])
    assert.deepEqual(violationsOf({ ...complete, OIDC_ISSUER }), [
      `OIDC_ISSUER: "${OIDC_ISSUER}" must be an https address, or http on this machine`,
    ]);
});

test("the demo is created by default only on this machine with its own database", () => {
  const key = { TRUNKLINE_SECRET_KEY: Buffer.alloc(32, 1).toString("base64") };
  const database = { ...key, DATABASE_URL: "postgres://127.0.0.1/trunkline" };
  const seedOf = (env: NodeJS.ProcessEnv) => readConfig(env).seed;
  for (const HOST of ["127.0.0.1", "localhost", "::1"]) assert.equal(seedOf({ HOST }), "demo");
  for (const HOST of ["0.0.0.0", "::", "10.0.0.5", "127.0.0.1.example.com"])
    assert.equal(seedOf({ HOST }), "none", HOST);
  assert.equal(seedOf(database), "none");
  assert.equal(seedOf({ ...database, HOST: "0.0.0.0", TRUNKLINE_SEED: "demo" }), "demo");
  assert.equal(seedOf({ TRUNKLINE_SEED: "none" }), "none");
});

test("a mail server needs its URL and a sender, and reveals no password", () => {
  const url = "smtps://user:p%40ss@mail.test.example:465";
  const from = "Trunkline <mail@test.example>";
  assert.deepEqual(readConfig({ SMTP_URL: url, MAIL_FROM: from }).smtp, { url, from });
  const both = "SMTP_URL, MAIL_FROM: set both of them or none";
  assert.deepEqual(violationsOf({ SMTP_URL: url }), [both]);
  assert.deepEqual(violationsOf({ MAIL_FROM: from }), [both]);
  for (const SMTP_URL of ["mail.test.example:25", "http://secret@host", "smtp://", "smtp://h/?x=1"])
    assert.deepEqual(violationsOf({ SMTP_URL, MAIL_FROM: from }), [
      "SMTP_URL: must have the form smtp://user:password@host:port or smtps://…",
    ]);
  for (const MAIL_FROM of ["Trunkline", "a@b, c@d", "A <a@b>\r\nBcc: <c@d>"])
    assert.equal(violationsOf({ SMTP_URL: url, MAIL_FROM }).length, 1, MAIL_FROM);
});

test("WhatsApp needs all of its secrets or none", () => {
  const secrets = {
    WHATSAPP_ACCESS_TOKEN: "token",
    WHATSAPP_APP_SECRET: "secret",
    WHATSAPP_VERIFY_TOKEN: "verify",
  };
  assert.deepEqual(readConfig(secrets).whatsapp, {
    access_token: "token",
    app_secret: "secret",
    verify_token: "verify",
  });
  assert.equal(
    readConfig({ ...secrets, WHATSAPP_API_URL: "http://127.0.0.1:9/v1/" }).whatsapp_api_url,
    "http://127.0.0.1:9/v1",
  );
  assert.match(
    violationsOf({ ...secrets, WHATSAPP_APP_SECRET: "" }).join(),
    /WHATSAPP_APP_SECRET.*all/,
  );
  assert.match(violationsOf({ WHATSAPP_API_URL: "graph" }).join(), /WHATSAPP_API_URL: "graph"/);
  assert.deepEqual(violationsOf({ ...secrets, WHATSAPP_ACCESS_TOKEN: "two\nlines" }), [
    "WHATSAPP_ACCESS_TOKEN: contains characters that are not allowed in a token",
  ]);
});

test("CALLBACK_ALLOW lists addresses and networks, with or without ports", () => {
  const listed = "127.0.0.1, 10.1.0.0/16:9000,,[::1]:9000,fd00::/8 ,[fd00::/8]:80";
  assert.deepEqual(readConfig({ CALLBACK_ALLOW: listed }).callback_allow, [
    "127.0.0.1",
    "10.1.0.0/16:9000",
    "[::1]:9000",
    "fd00::/8",
    "[fd00::/8]:80",
  ]);
  const wrong = ["localhost", "127.1", "10.0.0.0/33", "127.0.0.1:0", "127.0.0.1:65536", "*"];
  wrong.push("[127.0.0.1]:80", "::1/129", "fe80::1%eth0", "http://127.0.0.1", "10.0.0.0/8/8");
  assert.deepEqual(
    violationsOf({ CALLBACK_ALLOW: wrong.join() }).map(
      (violation) => /"(.*?)"/.exec(violation)?.[1],
    ),
    wrong,
  );
  assert.match(
    violationsOf({ CALLBACK_ALLOW: "x" }).join(),
    /^CALLBACK_ALLOW: "x" must be an address or a network/,
  );
});

test("TRUSTED_PROXIES lists addresses and networks, and each other value is refused by name", () => {
  const listed = "127.0.0.1, 10.1.0.0/16,,::1,fd00::/8 ";
  assert.deepEqual(readConfig({ TRUSTED_PROXIES: listed }).trusted_proxies, [
    "127.0.0.1",
    "10.1.0.0/16",
    "::1",
    "fd00::/8",
  ]);
  assert.deepEqual(violationsOf({ TRUSTED_PROXIES: "loopback,true,10.0.0.0/33,127.0.0.1:80" }), [
    'TRUSTED_PROXIES: "loopback" must be an IP address or a network such as 203.0.113.0/24',
    'TRUSTED_PROXIES: "true" must be an IP address or a network such as 203.0.113.0/24',
    'TRUSTED_PROXIES: "10.0.0.0/33" must have at most /32',
    'TRUSTED_PROXIES: "127.0.0.1:80" must be an IP address or a network such as 203.0.113.0/24',
  ]);
});

test("a realtime server needs a URL, or only a key for OpenAI's", () => {
  assert.deepEqual(readConfig({ REALTIME_API_KEY: "key" }).realtime, {
    url: "wss://api.openai.com/v1/realtime",
    api_key: "key",
    model: "gpt-realtime-2.1",
    transcription_model: "gpt-transcribe",
  });
  const own = {
    REALTIME_URL: "ws://127.0.0.1:9/v1/realtime",
    REALTIME_MODEL: "own",
    REALTIME_TRANSCRIPTION_MODEL: "own-words",
  };
  assert.deepEqual(readConfig(own).realtime, {
    url: own.REALTIME_URL,
    api_key: null,
    model: "own",
    transcription_model: "own-words",
  });
  const violations = violationsOf({
    REALTIME_URL: "http://u:hunter2@host",
    REALTIME_API_KEY: "a\nhunter2",
  });
  assert.deepEqual(violations, [
    "REALTIME_URL: must have the form wss://host/path",
    "REALTIME_API_KEY: contains characters that are not allowed in a key",
  ]);
});

test("reports every violation at once and never echoes the database's password", () => {
  const violations = violationsOf({
    PORT: "99999",
    DATABASE_URL: "mysql://user:hunter2@host/db",
    ROLES: "api,cook",
    LOG_LEVEL: "loud",
    PUBLIC_URL: "ftp://x",
    TRUNKLINE_SEED: "maybe",
    LEASE_SECONDS: "0",
    CHAT_SETTLE_SECONDS: "1h",
    NODE_LOST_SECONDS: "0",
  });
  const named = violations.map((violation) => violation.split(":")[0]);
  assert.deepEqual(
    new Set(named),
    new Set([
      "DATABASE_URL",
      "TRUNKLINE_SECRET_KEY",
      "PORT",
      "ROLES",
      "LOG_LEVEL",
      "PUBLIC_URL",
      "TRUNKLINE_SEED",
      "LEASE_SECONDS",
      "CHAT_SETTLE_SECONDS",
      "NODE_LOST_SECONDS",
    ]),
  );
  assert.equal(violations.length, 10);
  assert.doesNotMatch(violations.join("\n"), /hunter2/);
});

test("an invalid port is one violation, not a second one of the address built from it", () => {
  assert.deepEqual(violationsOf({ PORT: "abc" }), ['PORT: "abc" is not a valid port (0-65535)']);
});

test("a secret comes from a variable or a file, not both, and an unreadable file is a violation", () => {
  const dir = mkdtempSync(join(tmpdir(), "trunkline-config-"));
  const file = join(dir, "url");
  writeFileSync(file, "postgres://u:p@db/trunkline\n");
  assert.equal(
    readConfig({ DATABASE_URL_FILE: file, TRUNKLINE_SECRET_KEY: test_secret_key }).database_url,
    "postgres://u:p@db/trunkline",
  );
  assert.match(
    violationsOf({ DATABASE_URL_FILE: file, DATABASE_URL: "postgres://x/y" }).join(),
    /both set/,
  );
  assert.match(violationsOf({ DATABASE_URL_FILE: join(dir, "none") }).join(), /cannot read/);
  rmSync(dir, { recursive: true });
});

test("a database of one's own needs a key for its secrets, and keys have 32 bytes", () => {
  const DATABASE_URL = "postgres://u@db/t";
  assert.match(violationsOf({ DATABASE_URL }).join(), /TRUNKLINE_SECRET_KEY: is required with/);
  const keys = [1, 2].map((byte) => Buffer.alloc(32, byte));
  const [first, second] = keys.map((key) => key.toString("base64"));
  const both = { DATABASE_URL, TRUNKLINE_SECRET_KEY: `${first},${second}` };
  assert.deepEqual(readConfig(both).secret_keys, { keys });
  for (const text of ["short", `${first},short`, `${first}!`, ","]) {
    const [violation, ...rest] = violationsOf({ ...both, TRUNKLINE_SECRET_KEY: text });
    assert.match(violation!, /TRUNKLINE_SECRET_KEY: each key must be 32 bytes in base64/);
    assert.deepEqual(rest, []);
    assert.ok(!violation!.includes(first!));
  }
  const file = "/nowhere/key";
  const missing = violationsOf({ DATABASE_URL, TRUNKLINE_SECRET_KEY_FILE: file });
  assert.deepEqual(missing, ["TRUNKLINE_SECRET_KEY_FILE: cannot read /nowhere/key (ENOENT)"]);
});

test("a process with one role needs a shared database", () => {
  assert.match(violationsOf({ ROLES: "api" }).join(), /needs DATABASE_URL/);
  assert.deepEqual(
    violationsOf({
      ROLES: "worker",
      DATABASE_URL: "postgres://u@db/t",
      TRUNKLINE_SECRET_KEY: test_secret_key,
    }),
    [],
  );
});

test(".env.example lists every setting, and nothing else", () => {
  const source = readFileSync(new URL("config.ts", import.meta.url), "utf8");
  const read = new Set(
    [...source.matchAll(/env\["([A-Z_]+)"\]|readSecret\(env, "([A-Z_]+)"/g)].map(
      (m) => m[1] ?? m[2]!,
    ),
  );
  const example = readFileSync(new URL("../.env.example", import.meta.url), "utf8");
  const listed = new Set([...example.matchAll(/^# ?([A-Z_]+)=/gm)].map((m) => m[1]!));
  // OpenTelemetry's own variables are read in lib/tracing and by its exporter.
  assert.deepEqual(
    [...listed].filter((name) => !/_FILE$|^OTEL_/.test(name)).toSorted(),
    [...read].toSorted(),
  );
});
