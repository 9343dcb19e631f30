import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { Resolver, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { after, before, test } from "node:test";
import { findAddresses } from "./find-addresses.ts";

/** A name server that answers `silent.example` with nothing at all. */
let server: Socket;
let refuses = false;
/** Waits longer than any test. */
const resolver = new Resolver({ timeout: 60_000, tries: 1 });
const records: Readonly<Record<string, Partial<Record<number, Buffer>>>> = {
  "both.example": { 1: Buffer.from([203, 0, 113, 9]), 28: Buffer.from([0x20, 1, ...zeros(13), 5]) },
  "four.example": { 1: Buffer.from([203, 0, 113, 10]) },
};

function zeros(count: number): number[] {
  return Array.from({ length: count }, () => 0);
}

before(async () => {
  server = createSocket("udp4", (query, from) => {
    const { name, type, question } = readQuestion(query);
    if (name === "silent.example") return;
    const data = records[name]?.[type];
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    // An answer; of a name that is not known: NXDOMAIN, or REFUSED.
    header.writeUInt16BE(records[name] ? 0x8180 : refuses ? 0x8185 : 0x8183, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(data ? 1 : 0, 6);
    const parts = [header, question];
    if (data) {
      const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]);
      parts.push(record, data);
    }
    server.send(Buffer.concat(parts), from.port, from.address);
  });
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  resolver.setServers([`127.0.0.1:${server.address().port}`]);
});
after(() => void server.close());

/** The first question's name and type, and its bytes. */
function readQuestion(query: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  return { name: labels.join(".").toLowerCase(), type, question: query.subarray(12, at + 5) };
}

function ask(lookup: LookupFunction, name: string) {
  const { promise, resolve } = Promise.withResolvers<string | string[]>();
  lookup(name, { all: true }, (error, found) => {
    const addresses = found as LookupAddress[];
    resolve(error ? (error.code ?? "") : addresses.map(({ address }) => address).toSorted());
  });
  return promise;
}

const find = (name: string, local: readonly string[] = []) =>
  ask(
    findAddresses(
      (one) => local.includes(one),
      () => resolver,
    ),
    name,
  );

test("a name's addresses of both families are found, and of one where it has one", async () => {
  assert.deepEqual(await find("both.example"), ["2001::5", "203.0.113.9"]);
  assert.deepEqual(await find("four.example"), ["203.0.113.10"]);
});

test("a name server that does not respond delays no other name's look-up", async () => {
  const silent = Promise.race(Array.from({ length: 16 }, () => find("silent.example")));
  const first = await Promise.race([silent, find("four.example")]);
  assert.deepEqual(first, ["203.0.113.10"]);
  resolver.cancel();
  assert.equal(await silent, "ECANCELLED");
});

test("of names that DNS does not resolve, only local ones are looked up on this machine", async () => {
  for (const code of ["ENOTFOUND", "EREFUSED"]) {
    refuses = code === "EREFUSED";
    // Every machine has it in /etc/hosts; here it represents a name that an attacker denies.
    assert.equal(await find("localhost", ["receiver"]), code);
    const local = await find("localhost", ["localhost"]);
    assert.ok(local.includes("127.0.0.1"));
  }
  refuses = false;
});

test("uses the machine's new name servers once the old ones do not respond", async () => {
  const gone = new Resolver({ timeout: 1_000, tries: 1 });
  gone.setServers(["127.0.0.1:1"]);
  const servers = [gone, resolver];
  const lookup = findAddresses(
    () => false,
    () => servers.shift() ?? resolver,
  );
  assert.equal(typeof (await ask(lookup, "four.example")), "string");
  assert.deepEqual(await ask(lookup, "four.example"), ["203.0.113.10"]);
});
