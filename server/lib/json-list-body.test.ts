import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Refusal } from "./errors.ts";
import { parseJsonBody, parseJsonText } from "./json-body.ts";
import { parseListBody, place_of_list } from "./json-list-body.ts";

/** A body put together again from its list and its rest: what parseJsonBody would have made of it. */
function reassemble(text: string): unknown {
  let list: unknown[] = [];
  const rest = parseListBody(Buffer.from(text), "list", {
    begin: () => void (list = []),
    entry: (json, index) => {
      assert.equal(index, list.length);
      list.push(parseJsonText(json.toString("utf8")));
    },
  });
  if (typeof rest !== "object" || rest === null || Array.isArray(rest)) return rest;
  const body = rest as Record<string, unknown>;
  return body["list"] === place_of_list ? { ...body, list } : body;
}

const outcome = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal) return error.type;
    throw error;
  }
};

const key = fc.oneof(fc.constant("list"), fc.constant('x"list'), fc.constant("\\"), fc.string());
const body = fc.oneof(
  fc.dictionary(key, fc.jsonValue({ maxDepth: 3 })),
  fc.record({ list: fc.array(fc.jsonValue({ maxDepth: 3 })), name: fc.string() }),
  fc.jsonValue(),
);

/** Read both ways: what is refused must be refused alike, and what is taken must be what JSON.parse makes of it. */
function compare(text: string): void {
  const found = outcome(() => reassemble(text));
  const whole = outcome(() => parseJsonBody(Buffer.from(text)));
  // What entries may hold is their reader's to validate.
  if (typeof found === "string" || whole !== "validation-failed")
    assert.deepEqual(found, whole, text);
  else assert.deepEqual(found, JSON.parse(text));
}

test("a body read entry by entry equals the body read as a whole", () => {
  fc.assert(
    fc.property(body, fc.constantFrom(0, 1, 2), (value, indent) =>
      compare(JSON.stringify(value, null, indent)),
    ),
    { numRuns: 2_000 },
  );
});

test("text that is invalid JSON as a whole is also invalid entry by entry", () => {
  const signs = ["", ",", "]", "}", "[", "{", '"', "\\", ":", "x", " "];
  const damaged = fc.tuple(body, fc.nat(), fc.constantFrom(...signs));
  fc.assert(
    fc.property(damaged, ([value, at, sign]) => {
      const whole = JSON.stringify(value);
      const place = at % (whole.length + 1);
      compare(whole.slice(0, place) + sign + whole.slice(place + 1));
    }),
    { numRuns: 5_000 },
  );
});

test("of two lists under one name the last one counts, as in JSON", () => {
  assert.deepEqual(reassemble('{"list":[1,2],"a":1,"list":[3]}'), { list: [3], a: 1 });
  assert.deepEqual(reassemble('{"list":[1,2],"list":null}'), { list: null });
  assert.deepEqual(reassemble('{"list":null,"list":[ ]}'), { list: [] });
  assert.deepEqual(reassemble('{"other":{"list":[1]},"l\\u0069st":[2]}'), {
    other: { list: [1] },
    list: [2],
  });
});

test("a list may be long, the rest of the body may not", () => {
  const long = "x".repeat(70_000);
  assert.deepEqual(reassemble(`{"list":["${long}"]}`), { list: [long] });
  assert.equal(
    outcome(() => reassemble(`{"name":"${long}","list":[]}`)),
    "validation-failed",
  );
  assert.equal(
    outcome(() => reassemble(`{"list":"${long}"}`)),
    "validation-failed",
  );
  assert.equal(
    outcome(() => reassemble(`{"list":${"[".repeat(33)}`)),
    "validation-failed",
  );
});

test("names the fields that exceed the limit of the rest, and a misspelled list", () => {
  const long = "x".repeat(70_000);
  const fields = (text: string) => {
    try {
      reassemble(text);
    } catch (error) {
      if (error instanceof Refusal) return error.errors;
      throw error;
    }
    return null;
  };
  const limit = "has more than 64 kB";
  for (const list of ["lists", "Lst"])
    assert.deepEqual(fields(`{"a":{"b":[1,2]}, "${list}" :["${long}","}"],"c":3}`), [
      { field: list, reason: "unknown field; did you mean list?" },
    ]);
  assert.deepEqual(fields(`{"list":"${long}"}`), [{ field: "list", reason: "must be an array" }]);
  assert.deepEqual(fields(`{"name":"${long}","list":[1],"tag":{"list":["${long}"]}}`), [
    { field: "name", reason: limit },
    { field: "tag", reason: limit },
  ]);
  const of_body = [{ field: "body", reason: "has more than 64 kB beside its list" }];
  assert.deepEqual(fields(`["${long}"]`), of_body);
  const half = long.slice(0, 40_000);
  assert.deepEqual(fields(`{"a":"${half}","b":"${half}"}`), of_body);
});
