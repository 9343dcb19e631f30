import assert from "node:assert/strict";
import { test } from "node:test";
import { routes } from "../api/routes.ts";
import { featuresFor } from "./permission-features.ts";
import { permissionNames } from "./permissions.ts";

test("a permission needs the features of the routes that it opens", () => {
  for (const permission of permissionNames) {
    const opened = routes.flatMap(({ access }) =>
      access !== "public" && typeof access.anyOf !== "string" && access.anyOf.includes(permission)
        ? [access]
        : [],
    );
    assert.ok(opened.length > 0, permission);
    const needed = new Set(opened.flatMap(({ features }) => features ?? []));
    assert.deepEqual(new Set(featuresFor(permission)), needed, permission);
  }
});
