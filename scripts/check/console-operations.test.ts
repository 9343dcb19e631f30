import assert from "node:assert/strict";
import { test } from "node:test";
import { checkConsoleOperations } from "./console-operations.ts";

const operations = [
  { id: "listGroups", method: "GET", url: "/api/v1/groups" },
  { id: "deleteGroup", method: "DELETE", url: "/api/v1/groups/:id" },
  { id: "exportGroup", method: "GET", url: "/api/v1/groups/:id/export" },
  { id: "importGroup", method: "POST", url: "/api/v1/groups/:id/import" },
  { id: "streamEvents", method: "GET", url: "/api/v1/events" },
];
const source = `
  await api.GET("/api/v1/groups", { signal });
  api
    .DELETE("/api/v1/groups/{id}");
  await upload("/api/v1/groups/{id}/import", parts);
  <a href={\`/api/v1/groups/\${group.id}/export?format=csv\`}>
  new EventSource("/api/v1/events");
`;

test("an operation counts as used by a call, a link or a stream, and by nothing else", () => {
  assert.deepEqual(checkConsoleOperations([source], operations, []), []);
  const missing = checkConsoleOperations(['api.POST("/api/v1/groups")'], operations, []);
  assert.deepEqual(
    missing.map((line) => line.split(":")[0]),
    ["listGroups", "deleteGroup", "exportGroup", "importGroup", "streamEvents"],
  );
});

test("an exception is for one existing operation that the console does not use", () => {
  const exceptions = [
    { reason: "For programs", operations: ["deleteGroup", "listGroups"] },
    { reason: "For other programs", operations: ["deleteGroup", "moveGroup"] },
  ];
  const only =
    'api.GET("/api/v1/groups"); "/api/v1/groups/{id}/export"; "/api/v1/events"; upload("/api/v1/groups/{id}/import")';
  assert.deepEqual(checkConsoleOperations([only], operations, exceptions), [
    "moveGroup: excepted, but no operation",
    "deleteGroup: excepted twice",
    "listGroups: excepted, but the console uses it",
  ]);
});
