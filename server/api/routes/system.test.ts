import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

test("readiness and metrics cost the database nothing for a second, however many ask", async (t) => {
  let now_ms = performance.now() + 5_000;
  t.mock.method(performance, "now", () => now_ms);
  const acquired = t.mock.method(api.app.db.pool, "connect");
  const flood = async (path: string) => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => api.send("GET", path)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    return acquired.mock.callCount();
  };
  for (const path of ["/health/ready", "/metrics"]) {
    const once = await flood(path);
    assert.ok(once > 0 && once < 10, `${once} connections`);
    now_ms += 999;
    assert.equal(await flood(path), once, path);
    now_ms += 1;
    assert.equal(await flood(path), 2 * once, path);
    acquired.mock.resetCalls();
  }
});

test("/metrics requires the token of its setting, if there is one", async () => {
  const bare = await startApi({ databaseUrl: api.database_url, metricsToken: "scrape-me" });
  try {
    const at = (token?: string) => bare.send("GET", "/metrics", { token });
    assert.deepEqual(
      [(await at()).status, (await at("scrape-m")).status, (await at("scrape-me")).status],
      [401, 401, 200],
    );
    assert.match((await at("other")).headers.get("www-authenticate") ?? "", /^Bearer/);
    assert.equal((await bare.send("GET", "/health/ready")).status, 200);
  } finally {
    await bare.close();
  }
});
