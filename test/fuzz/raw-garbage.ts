// Requests that no HTTP client sends: broken request lines, false lengths, invalid chunks.
import { rawRequest } from "../support/raw-http.ts";
import { evil_headers, evil_texts } from "./evil.ts";
import type { Random } from "./random.ts";

/** Returns the bytes of one connection. */
export function rawGarbage(random: Random, path: string, token: string): Buffer {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const line = `POST ${path}`;
  const body = '{"phone":"9876543210"}';
  const [name, values] = random.pick(evil_headers);
  const texts = [
    () => rawRequest(line, { ...headers, "content-length": random.pick(lengths) }, body),
    () => rawRequest(line, { ...headers, "content-length": "5", "Content-Length": "22" }, body),
    () => rawRequest(line, { ...headers, "transfer-encoding": random.pick(codings) }, body),
    () => rawRequest(line, { ...headers, "transfer-encoding": "chunked" }, random.pick(chunks)),
    () =>
      rawRequest(
        line,
        { ...headers, "transfer-encoding": "chunked", "content-length": "22" },
        `16\r\n${body}\r\n0\r\n\r\n`,
      ),
    () => rawRequest(random.pick(lines), headers),
    () => rawRequest(`GET ${random.pick(evil_texts)}`, headers),
    () => rawRequest(`GET /${"x".repeat(30_000)}`, headers),
    () => rawRequest(line, { ...headers, host: "", "content-length": "22" }, body),
    () => rawRequest(line, { ...headers, [name]: `${random.pick(values)}\u0001` }, body),
    () => rawRequest(line, { ...headers, "bad header": "x", "content-length": "22" }, body),
    () => rawRequest(line, { ...headers, expect: random.pick(["100-continue", "nonsense"]) }, body),
    () => rawRequest(line, { ...headers, upgrade: "websocket", connection: "upgrade" }, body),
    () => `${line} HTTP/1.1\r\n${"a: b\r\n".repeat(3_000)}\r\n`,
    () => `${line} HTTP/1.1\r\nhost: x\r\nx-folded: a\r\n b\r\n\r\n`,
    () => `${line} HTTP/1.1\nhost: x\n\n`,
    () => `${line} HTTP/0.9\r\n\r\n`,
    () => `${rawRequest("GET /health/live", { connection: "keep-alive" })}\u0016\u0003\u0001`,
    () => String.fromCharCode(...Array.from({ length: 200 }, () => random.below(256))),
    () => "\r\n".repeat(1_000),
  ];
  return Buffer.from(random.pick(texts)(), "latin1");
}

const lengths = ["-1", "0", "1", "21", "23", "1e3", "abc", "", "9".repeat(30), "1048577", "0x16"];
const codings = ["gzip", "chunked, chunked", "identity", "nonsense", "", "chunked, gzip"];
const chunks = [
  "",
  "0\r\n\r\n",
  "zz\r\n\r\n",
  "-1\r\n\r\n",
  "ffffffffffffffffff\r\n",
  "5\r\nab",
  "2\r\n{}x",
];
const lines = [
  "",
  " ",
  "GET",
  "GET  /",
  "get /health/live",
  "NONSENSE /",
  "CONNECT 127.0.0.1:1",
  "TRACE /",
  "GET http://elsewhere.example/health/live",
  "GET *",
  "OPTIONS *",
  "PRI *",
  "POST \u0000",
  "POST /api/v1/\u00ff\u00fe",
];
