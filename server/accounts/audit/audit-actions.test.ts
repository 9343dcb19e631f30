import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { audit_actions } from "./audit-actions.ts";

test("every action of the catalogue is recorded somewhere", () => {
  const files = [
    ...globSync("server/**/*.ts").filter((file) => !/test\.ts$|audit-actions\.ts$/.test(file)),
    ...globSync("migrations/functions/*.sql"),
  ];
  const source = files.map((file) => readFileSync(file, "utf8")).join("\n");
  const unused = audit_actions.filter((action) => !new RegExp(`["']${action}["']`).test(source));
  assert.deepEqual(unused, []);
});
