import assert from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import {
  connect,
  createServer as createSocketServer,
  isIP,
  type AddressInfo,
  type LookupFunction,
  type Server,
  type Socket,
} from "node:net";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { eventually } from "../../../test/support/eventually.ts";
import { selfSignedCertificate } from "../../../test/support/self-signed-certificate.ts";
import { openOutgoingHttp } from "./open-outgoing-http.ts";
import { OutgoingError, type OutgoingHttp, type OutgoingRequest } from "./outgoing-http.ts";

/** Longer than any machine needs: a request that ends by it has failed its test. */
const patience_ms = 120_000;

/** Loopback addresses of this process alone: whoever tries an old port of theirs is not counted here. */
const network = `127.${100 + ((process.pid >> 8) % 100)}.${process.pid % 256}`;
const home = `${network}.1`;
const beside = `${network}.2`;

/** A listening server: how often it was connected to, and what is open on it. */
type Receiver = {
  readonly host: string;
  readonly port: number;
  connections: number;
  readonly open: Set<Socket>;
};

const ends: (() => Promise<void>)[] = [];
after(() => Promise.all(ends.map((end) => end())));

/** Counts the server's connections; `after` ends them and it. */
async function listen(server: Server, host = home, port = 0): Promise<Receiver> {
  const open = new Set<Socket>();
  const receiver = { host, port, connections: 0, open };
  server.on("connection", (socket: Socket) => {
    receiver.connections += 1;
    open.add(socket);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
  });
  server.listen(port, host);
  await once(server, "listening");
  receiver.port = (server.address() as AddressInfo).port;
  ends.push(async () => {
    const closed = once(server, "close");
    server.close();
    for (const socket of open) socket.destroy();
    await closed;
  });
  return receiver;
}

/** Keeps idle connections for ever, so that only we end them. */
function answering(listener: RequestListener, host?: string, port?: number) {
  return listen(createServer({ keepAliveTimeout: 0 }, listener), host, port);
}

/** Runs on each connection once the request's head has come. */
function speaking(speak: (socket: Socket) => void) {
  return listen(createSocketServer((socket) => void socket.once("data", () => speak(socket))));
}

function guarded(allowed: readonly string[], find?: LookupFunction): OutgoingHttp {
  const outgoing = openOutgoingHttp(allowed, find);
  ends.push(() => outgoing.close());
  return outgoing;
}

/** One that may go to this machine, for the tests of what is answered. */
const outgoing = guarded([home]);

const get = (url: string, more: Partial<OutgoingRequest> = {}): OutgoingRequest => ({
  sender: 1,
  method: "GET",
  url,
  headers: {},
  body: null,
  timeout_ms: patience_ms,
  ...more,
});
const at = ({ host, port }: Receiver, path = "/") => `http://${host}:${port}${path}`;

async function failureOf(sending: Promise<unknown>): Promise<OutgoingError> {
  const error = await sending.then(
    (answer) => assert.fail(`it was answered: ${JSON.stringify(answer)}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof OutgoingError, String(error));
  return error;
}

/** Resolves names to the given addresses, one answer after the other; other names are not found. */
function names(answers: Readonly<Record<string, readonly (readonly string[])[]>>) {
  const asked: string[] = [];
  const find: LookupFunction = (name, _options, callback) => {
    const results = answers[name];
    if (results === undefined) {
      const error = Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" });
      return process.nextTick(callback, error, []);
    }
    const addresses =
      results[asked.filter((other) => other === name).length % results.length] ?? [];
    asked.push(name);
    const found = addresses.map((address): LookupAddress => ({
      address,
      family: isIP(address.replace(/%.*/, "")),
    }));
    process.nextTick(callback, null, found);
  };
  return { asked, find };
}

/** On every address of this machine, in both families where it has both. */
async function openTrap(): Promise<Receiver> {
  const trap = createServer((_, answer) => answer.end("trapped"));
  return listen(trap, "::").catch(() => listen(trap, "0.0.0.0"));
}

const hostile: Readonly<Record<string, readonly [url: string, reason: RegExp]>> = {
  loopback: ["http://127.0.0.1:PORT/", /^127\.0\.0\.1 is a loopback address; .*CALLBACK_ALLOW/],
  "another loopback": ["http://127.8.8.8:PORT/", /loopback/],
  "loopback over TLS": ["https://127.0.0.1:PORT/", /loopback/],
  "a decimal address": ["http://2130706433:PORT/", /127\.0\.0\.1 is a loopback/],
  "an octal address": ["http://0177.0.0.01:PORT/", /127\.0\.0\.1 is a loopback/],
  "a hexadecimal address": ["http://0x7f000001:PORT/", /127\.0\.0\.1 is a loopback/],
  "a mixed address": ["http://0x7f.0.1:PORT/", /127\.0\.0\.1 is a loopback/],
  "a short address": ["http://127.1:PORT/", /127\.0\.0\.1 is a loopback/],
  "a trailing dot": ["http://127.0.0.1.:PORT/", /127\.0\.0\.1 is a loopback/],
  "circled digits": ["http://①②⑦.⓪.⓪.①:PORT/", /127\.0\.0\.1 is a loopback/],
  "ideographic dots": ["http://127。0。0。1:PORT/", /127\.0\.0\.1 is a loopback/],
  "percent signs": ["http://%31%32%37.0.0.1:PORT/", /127\.0\.0\.1 is a loopback/],
  "a line break inside": ["http://127.0.\n0.1:PORT/", /127\.0\.0\.1 is a loopback/],
  backslashes: ["http:\\\\127.0.0.1:PORT\\", /127\.0\.0\.1 is a loopback/],
  zero: ["http://0:PORT/", /0\.0\.0\.0 is an unspecified/],
  "this network": ["http://0.0.0.1:PORT/", /unspecified/],
  "IPv6 loopback": ["http://[::1]:PORT/", /^::1 is a loopback/],
  "IPv6 loopback at length": ["http://[0:0:0:0:0:0:0:1]:PORT/", /^::1 is a loopback/],
  "IPv6 unspecified": ["http://[::]:PORT/", /unspecified/],
  "IPv4-compatible": ["http://[::127.0.0.1]:PORT/", /IPv4 address in the form of IPv6/],
  "IPv4-mapped": ["http://[::ffff:127.0.0.1]:PORT/", /IPv4 address in the form of IPv6/],
  "IPv4-mapped in hex": ["http://[::ffff:7f00:1]:PORT/", /IPv4 address in the form of IPv6/],
  "IPv4-translated": ["http://[::ffff:0:7f00:1]:PORT/", /reserved/],
  NAT64: ["http://[64:ff9b::127.0.0.1]:PORT/", /translated IPv4/],
  "local NAT64": ["http://[64:ff9b:1::7f00:1]:PORT/", /translated IPv4/],
  "6to4": ["http://[2002:7f00:1::]:PORT/", /translated IPv4/],
  Teredo: ["http://[2001:0:7f00:1::80ff:fffe]:PORT/", /translated IPv4/],
  "unique local": ["http://[fd00::2]:PORT/", /private/],
  "site-local": ["http://[fec0::1]:PORT/", /private/],
  "IPv6 link-local": ["http://[fe80::1]:PORT/", /link-local/],
  "link-local with a zone": ["http://[fe80::1%25lo]:PORT/", /not a valid/],
  "IPv6 multicast": ["http://[ff02::1]:PORT/", /multicast/],
  "a cloud's metadata": ["http://169.254.169.254/latest/meta-data/", /link-local/],
  "private, class A": ["http://10.0.0.5:PORT/", /private/],
  "private, class B": ["http://172.31.255.254:PORT/", /private/],
  "private, class C": ["http://192.168.1.1:PORT/", /private/],
  "a carrier's NAT": ["http://100.64.0.1:PORT/", /carrier/],
  documentation: ["http://192.0.2.2:PORT/", /documentation/],
  broadcast: ["http://255.255.255.255:PORT/", /broadcast/],
  localhost: ["http://localhost:PORT/", /^localhost is a name of this machine/],
  "localhost with a dot": ["http://LOCALHOST.:PORT/", /name of this machine/],
  "below localhost": ["http://a.localhost:PORT/", /name of this machine/],
  "a service beside us": [
    "http://postgres:PORT/",
    /^postgres is a name of this machine or its net/,
  ],
  "an internal name": ["http://db.corp.internal:PORT/", /name of this machine or its network/],
  "a user": ["http://hooks@127.0.0.1:PORT/", /not contain a user name or password/],
  "a host as a password": [
    "http://hooks.example.com:80@127.0.0.1:PORT/",
    /not contain a user name or password/,
  ],
  "another protocol": ["ftp://127.0.0.1:PORT/", /http:\/\/ or https:/],
  "a file": ["file:///etc/passwd", /http:\/\/ or https:/],
  "a port of mail": ["http://hooks.example.com:25/", /^port 25 is not allowed/],
  "a port of a database": ["http://8.8.8.8:5432/", /^port 5432 is not allowed/],
  "no URL": ["//127.0.0.1:PORT/", /not a valid/],
};

test(`${Object.keys(hostile).length} hostile URLs are blocked with a reason, without any connection`, async () => {
  const trap = await openTrap();
  const none = guarded([]);
  for (const [name, [pattern, reason]] of Object.entries(hostile)) {
    const url = pattern.replace("PORT", String(trap.port));
    const { failure, message } = await failureOf(none.send(get(url)));
    assert.equal(failure, "blocked", name);
    assert.match(message, reason, name);
    assert.equal(none.validate(url), message, name);
  }
  await assertUntouched(trap);
});

test("a name that leads to a closed address is blocked, whatever the address and however it is spelled", async () => {
  const trap = await openTrap();
  const addresses = ["127.0.0.1", "0.0.0.0", "10.0.0.5", "::1", "::ffff:127.0.0.1", "fe80::1%lo"];
  addresses.push("::127.0.0.1", "64:ff9b::7f00:1", "fd00::2", "169.254.169.254");
  for (const address of addresses) {
    const { find } = names({ "hooks.example.com": [[address]] });
    const { failure, message } = await failureOf(
      guarded([], find).send(get("http://hooks.example.com/")),
    );
    assert.equal(failure, "blocked", address);
    assert.match(message, /^hooks\.example\.com resolves to an? [\w' -]*address/);
    assert.ok(!message.includes(address.replace("%lo", "")));
    assert.match(message, /CALLBACK_ALLOW/);
    // At the trap's own port too, which an operator has opened for somewhere else.
    const there = guarded([`203.0.113.9:${trap.port}`], find);
    const url = `http://hooks.example.com:${trap.port}/`;
    assert.equal((await failureOf(there.send(get(url)))).failure, "blocked");
  }
  await assertUntouched(trap);
});

test("reveals neither the address nor the existence of an internal name", async () => {
  const { find } = names({ postgres: [["10.0.0.5"]] });
  const some = guarded([home], find);
  const known = await failureOf(some.send(get("http://postgres/")));
  const unknown = await failureOf(some.send(get("http://redis/")));
  assert.deepEqual([known.failure, unknown.failure], ["blocked", "blocked"]);
  assert.equal(known.message.replace("postgres", "redis"), unknown.message);
});

test("a name whose answer changes between look-ups never causes a connection to a closed address", async () => {
  const { closed, let_through } = await openPair();
  const { asked, find } = names({
    "rebinding.example.com": [[beside], [home]],
    "both.example.com": [
      [home, beside],
      [beside, home],
    ],
    // What a name server's answer has room for is not all validated.
    "many.example.com": [[...Array<string>(16).fill(home), beside]],
  });
  const some = guarded([beside], find);
  const outcomes: (number | string)[] = [];
  for (let i = 0; i < 6; i++) {
    const url = `http://rebinding.example.com:${closed.port}/`;
    const sending = some.send(get(url));
    outcomes.push(i % 2 === 0 ? (await sending).status : (await failureOf(sending)).message);
  }
  const blocked =
    "rebinding.example.com resolves to a loopback address; the operator can open it with CALLBACK_ALLOW";
  assert.deepEqual(outcomes, [200, blocked, 200, blocked, 200, blocked]);
  for (let i = 0; i < 4; i++) {
    const answer = await some.send(get(`http://both.example.com:${closed.port}/`));
    assert.equal(answer.text, "let through");
  }
  const many = await failureOf(some.send(get(`http://many.example.com:${closed.port}/`)));
  assert.equal(many.failure, "blocked");
  // Exactly one look-up per connection.
  assert.equal(asked.length, 6 + 4 + 1);
  assert.equal(let_through.connections, 3 + 4);
  await assertUntouched(closed);
});

/** One port at an address that stays closed, and at one that the test opens in the place of a public one. */
async function openPair() {
  for (;;) {
    const closed = await answering((_, answer) => answer.end("closed"));
    const respond: RequestListener = (_, answer) => {
      answer.setHeader("connection", "close").end("let through");
    };
    try {
      return { closed, let_through: await answering(respond, beside, closed.port) };
    } catch (error) {
      // Somebody else's by chance: another port will do.
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}

test("the operator's list opens the address and port that it names, and no other", async () => {
  const receiver = await answering((_, answer) => answer.end("opened"), "127.0.0.1");
  const other = await answering((_, answer) => answer.end("other"), "127.0.0.1");
  const some = guarded([`127.0.0.1:${receiver.port}`]);
  for (const host of ["127.0.0.1", "localhost", "2130706433"]) {
    const answer = await some.send(get(`http://${host}:${receiver.port}/`));
    assert.equal(answer.text, "opened", host);
  }
  for (const host of ["127.0.0.2", "[::1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]"]) {
    const url = `http://${host}:${receiver.port}/`;
    assert.equal((await failureOf(some.send(get(url)))).failure, "blocked", host);
  }
  assert.equal((await failureOf(some.send(get(at(other))))).failure, "blocked");
  await assertUntouched(other);
});

test("what is sent arrives as it was given, with nothing added that asks for compression", async () => {
  const seen: unknown[] = [];
  const receiver = await answering((request, answer) => {
    const { host, connection, ...headers } = request.headers;
    assert.ok(host && connection);
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      seen.push([request.method, request.url, headers, body]);
      answer.writeHead(429, { "retry-after": "120" }).end("later");
    });
  });
  const body = '{"é":1}';
  const url = at(receiver, "/hook/é?a=%20#top");
  const answer = await outgoing.send(get(url, { method: "PUT", headers: { "x-a": "1" }, body }));
  assert.deepEqual(answer, { status: 429, retry_after: "120", text: "later" });
  await outgoing.send(get(at(receiver)));
  assert.deepEqual(seen, [
    ["PUT", "/hook/%C3%A9?a=%20", { "x-a": "1", "content-length": "8" }, body],
    ["GET", "/", {}, ""],
  ]);
});

test("a user's URL has 2,048 characters at most, and what we append is not counted", async () => {
  const receiver = await answering(({ url }, answer) => answer.end(String(url?.length)));
  const start = at(receiver, "/hook?");
  const longest = start.padEnd(2_048, "x");
  assert.equal(outgoing.validate(longest), null);
  assert.equal(outgoing.validate(`${longest}x`), "the URL must have at most 2048 characters");
  const { text } = await outgoing.send(get(longest + "&type=test".repeat(400)));
  assert.equal(text, String(2_048 - start.length + "/hook?".length + 4_000));
});

test("a redirect is an answer and is not followed", async () => {
  const target = await answering((_, answer) => answer.end());
  const receiver = await answering((_, answer) =>
    answer.writeHead(307, { location: at(target) }).end("elsewhere"),
  );
  const answer = await outgoing.send(get(at(receiver), { method: "POST", body: "{}" }));
  assert.deepEqual(answer, { status: 307, retry_after: null, text: "elsewhere" });
  await assertUntouched(target);
});

test("an answer's beginning is kept as text that PostgreSQL can store", async () => {
  const replies: Record<string, Buffer> = {
    "/nul": Buffer.from("a\0b"),
    "/ill-formed": Buffer.from([0x61, 0xff, 0xc3, 0x62]),
    "/split": Buffer.from(`${"x".repeat(4_095)}😀`),
    "/wide": Buffer.from("😀".repeat(5_000)),
    "/64KB": Buffer.alloc(65_536, "y"),
    "/gzip": gzipSync("compressed"),
  };
  const receiver = await answering(({ url = "" }, answer) => {
    answer.setHeader("content-encoding", url === "/gzip" ? "gzip" : "identity").end(replies[url]);
  });
  const text = async (path: string) => (await outgoing.send(get(at(receiver, path)))).text;
  assert.equal(await text("/nul"), "ab");
  assert.equal(await text("/ill-formed"), "a\ufffd\ufffdb");
  assert.equal(await text("/split"), `${"x".repeat(4_095)}\ufffd`);
  assert.equal(await text("/wide"), "😀".repeat(2_048));
  assert.equal(await text("/64KB"), "y".repeat(4_096));
  const compressed = await text("/gzip");
  assert.ok(compressed.isWellFormed() && !compressed.includes("\0"));
  assert.doesNotMatch(compressed, /compressed/);
});

test("a body without end is cut off, fast or slow, and its status is the answer", async () => {
  const fast = await answering((_, answer) => {
    const flood = () => {
      while (!answer.destroyed && answer.write("z".repeat(16_384)));
    };
    answer.on("drain", flood);
    flood();
  });
  const answer = await outgoing.send(get(at(fast)));
  assert.deepEqual(answer, { status: 200, retry_after: null, text: "z".repeat(4_096) });
  // Longer than what is read, but with an end: its connection is not waited for, nor used again.
  const long = await answering((_, reply) => reply.end("y".repeat(1_000_000)));
  for (let i = 0; i < 5; i++) await outgoing.send(get(at(long)));
  assert.equal(long.connections, 5);
  const slow = await answering((_, reply) => void reply.writeHead(503).write("so far"));
  const { status, text } = await outgoing.send(get(at(slow)));
  assert.deepEqual([status, text], [503, "so far"]);
  await eventually(() => [fast, long, slow].every((receiver) => receiver.open.size === 0));
});

test("an answer that breaks off after its status is the answer as far as it came", async () => {
  const short = await speaking((socket) => {
    socket.end("HTTP/1.1 202 Accepted\r\ncontent-length: 100\r\n\r\nhalf");
  });
  const chunked = await speaking((socket) => {
    socket.end("HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nnonsense");
  });
  const answers = [await outgoing.send(get(at(short))), await outgoing.send(get(at(chunked)))];
  assert.deepEqual(
    answers.map(({ status, text }) => [status, text]),
    [
      [202, "half"],
      [500, "half"],
    ],
  );
});

test("an answer that never begins, or never ends its headers, runs out of time", async () => {
  const silent = await answering(() => {});
  const endless = await speaking((socket) => void socket.write("HTTP/1.1 200 OK\r\nx-a: "));
  const notices = await speaking((socket) => {
    socket.write("HTTP/1.1 102 Processing\r\n\r\n".repeat(10));
  });
  const lost: LookupFunction = () => {};
  const nowhere = guarded([], lost);
  const failures = await Promise.all([
    failureOf(outgoing.send(get(at(silent), { timeout_ms: 300 }))),
    failureOf(outgoing.send(get(at(endless), { timeout_ms: 300 }))),
    failureOf(outgoing.send(get(at(notices), { timeout_ms: 300 }))),
    failureOf(nowhere.send(get("http://hooks.example.com/", { timeout_ms: 300 }))),
  ]);
  for (const { failure, message } of failures)
    assert.deepEqual([failure, message], ["timeout", "no response within 0.3 s"]);
  await eventually(() => [silent, endless, notices].every((receiver) => receiver.open.size === 0));
});

test("explains each failure to the owner of the URL", async () => {
  // Nothing listens on that address, and the port is reserved so that no other program gets it.
  const held = await answering((_, answer) => answer.end());
  const unused = `${network}.3`;
  const refused = `http://${unused}:${held.port}/`;
  const hanging_up = await speaking((socket) => socket.destroy());
  const flooding = await speaking((socket) => {
    const flood = () => {
      while (!socket.destroyed && socket.write(`x: ${"y".repeat(8_000)}\r\n`));
    };
    socket.write("HTTP/1.1 200 OK\r\n");
    socket.on("drain", flood);
    flood();
  });
  const mail = await speaking((socket) => void socket.write("220 mail.example.com ESMTP\r\n"));
  const failures = [
    await failureOf(guarded([unused]).send(get(refused))),
    await failureOf(outgoing.send(get(at(hanging_up)))),
    await failureOf(outgoing.send(get(at(flooding)))),
    await failureOf(outgoing.send(get(at(mail)))),
    await failureOf(outgoing.send(get(at(mail).replace("http:", "https:")))),
    await failureOf(guarded([], names({}).find).send(get("https://hooks.example.com/"))),
    await failureOf(outgoing.send(get("http://hooks..example.com/"))),
  ];
  assert.deepEqual(
    failures.map(({ failure, message }) => `${failure}: ${message}`),
    [
      "unreachable: the connection was refused",
      "unreachable: the connection was lost before the response",
      "unreachable: the response headers are too large",
      "unreachable: the response is not valid HTTP",
      "unreachable: the TLS handshake failed",
      "unreachable: the host name was not found",
      "unreachable: the host name is not a valid DNS name",
    ],
  );
});

test("an untrusted certificate is refused before the request is sent", async () => {
  let requests = 0;
  const count = () => void (requests += 1);
  const receiver = await listen(createTlsServer(selfSignedCertificate(), count));
  const url = at(receiver).replace("http:", "https:");
  const { failure, message } = await failureOf(outgoing.send(get(url)));
  assert.equal(`${failure}: ${message}`, "unreachable: the certificate is self-signed");
  assert.ok(receiver.connections > 0);
  assert.equal(requests, 0);
});

test("connections are used again, not for ever, and closed when they are idle", async () => {
  const lasts: unknown[] = [];
  // It never closes one by itself. It speaks of three seconds, so that we wait less than our own four.
  const receiver = await answering(({ headers }, answer) => {
    if (headers.connection === "close") lasts.push(headers);
    answer.setHeader("keep-alive", "timeout=3").end("ok");
  });
  let requests = 0;
  while (lasts.length === 0 && requests < 2_000) {
    await outgoing.send(get(at(receiver)));
    requests += 1;
  }
  assert.ok(lasts.length > 0, "one was used for ever");
  // A machine that stands still for long between two requests may lose one.
  assert.ok(receiver.connections < requests, `${receiver.connections} connections`);
  await eventually(() => receiver.open.size === 0);
});

test("however many hosts there are, the answer that one takes its time for still arrives", async () => {
  const waiting: (() => void)[] = [];
  const receiver = await answering(({ url }, answer) => {
    if (url === "/slow") waiting.push(() => answer.end("at last"));
    else answer.end("at once");
  });
  const everywhere: LookupFunction = (_name, _options, callback) =>
    process.nextTick(callback, null, [{ address: home, family: 4 }]);
  const many = guarded([home], everywhere);
  const slow = many.send(get(`http://slow.example.com:${receiver.port}/slow`));
  for (let i = 0; i < 300; i++) {
    const { text } = await many.send(get(`http://host-${i}.example.com:${receiver.port}/`));
    assert.equal(text, "at once");
  }
  await eventually(() => waiting.length === 1);
  waiting[0]!();
  assert.equal((await slow).text, "at last");
});

test("a sender whose requests all hang keeps no other sender of the same host waiting", async () => {
  const receiver = await answering(({ url }, answer) => {
    if (url === "/good") answer.end("good");
  });
  const aborting = new AbortController();
  const sender = guarded([home]);
  const hanging = Array.from({ length: 300 }, () =>
    sender.send(get(at(receiver, "/hangs")), aborting.signal).catch(() => {}),
  );
  await eventually(async () => receiver.open.size === 256);
  const answer = await sender.send(get(at(receiver, "/good"), { sender: 2 }));
  assert.equal(answer.text, "good");
  aborting.abort();
  await Promise.all(hanging);
});

test("an aborted request ends immediately, and one that is aborted beforehand is never sent", async () => {
  const receiver = await answering(({ url }, answer) => {
    if (url === "/begun") answer.write("begun");
  });
  const aborted_error = "unreachable: the request was aborted";
  const messageOf = async (sending: Promise<unknown>) => {
    const { failure, message } = await failureOf(sending);
    return `${failure}: ${message}`;
  };
  assert.equal(
    await messageOf(outgoing.send(get(at(receiver)), AbortSignal.abort())),
    aborted_error,
  );
  await assertUntouched(receiver);
  const abort = new AbortController();
  const sending = messageOf(outgoing.send(get(at(receiver)), abort.signal));
  const before = receiver.connections;
  await eventually(() => receiver.connections > before);
  abort.abort();
  assert.equal(await sending, aborted_error);
  await eventually(() => receiver.open.size === 0);
});

test("a request that times out before it is connected is never sent", async () => {
  const seen: unknown[] = [];
  const receiver = await answering(({ url }, answer) => {
    seen.push(url);
    answer.end();
  });
  const held: (() => void)[] = [];
  const find: LookupFunction = (_name, _options, callback) => {
    held.push(() => callback(null, [{ address: home, family: 4 }]));
  };
  const late = guarded([home], find);
  const url = `http://hooks.example.com:${receiver.port}`;
  const { failure } = await failureOf(late.send(get(`${url}/first`, { timeout_ms: 100 })));
  assert.equal(failure, "timeout");
  const release = () => {
    for (const give of held.splice(0)) give();
  };
  await eventually(() => {
    release();
    return receiver.connections > 0;
  });
  const sending = late.send(get(`${url}/second`));
  await eventually(() => {
    release();
    return seen.length > 0;
  });
  assert.equal((await sending).status, 200);
  assert.deepEqual(seen, ["/second"]);
});

test("closing aborts requests in flight, and none is sent afterwards", async () => {
  const receiver = await answering(() => {});
  const lost: LookupFunction = () => {};
  const closing = openOutgoingHttp([home], lost);
  const sendings = [at(receiver), "http://hooks.example.com/"].map((url) =>
    failureOf(closing.send(get(url))),
  );
  await eventually(() => receiver.connections === 1);
  await closing.close();
  for (const { failure } of await Promise.all(sendings)) assert.equal(failure, "unreachable");
  await eventually(() => receiver.open.size === 0);
  const other = await answering(() => {});
  for (const late of [receiver, other])
    assert.equal((await failureOf(closing.send(get(at(late))))).failure, "unreachable");
  await assertUntouched(receiver, 1);
  await assertUntouched(other);
});

/** Connections are accepted in the order they came: once ours is seen, all before it are counted. */
async function assertUntouched(receiver: Receiver, connections = 0) {
  const isEverywhere = ["::", "0.0.0.0"].includes(receiver.host);
  const socket = connect(receiver.port, isEverywhere ? "127.0.0.1" : receiver.host);
  await once(socket, "connect");
  const isOurs = ({ remotePort }: Socket) => remotePort === socket.localPort;
  await eventually(() => [...receiver.open].some(isOurs));
  assert.equal(receiver.connections, connections + 1);
  receiver.connections -= 1;
  socket.destroy();
}
