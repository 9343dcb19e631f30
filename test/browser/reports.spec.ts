import { expect, test } from "./console-fixture.ts";

test("days without data have a place among the bars of a report, and a long time is drawn by week", async ({
  openPage,
  page,
  problems,
}) => {
  let sent: Record<string, number> = { "2026-11-02": 40, "2026-11-05": 10 };
  await page.route("**/api/v1/reports/chat?*", async (route) => {
    const response = await route.fetch();
    const { totals, ...answer } = await response.json();
    const data = Object.entries(sent).map(([date, count]) => ({ ...totals, date, sent: count }));
    await route.fulfill({ response, json: { ...answer, totals, data, next_cursor: null } });
  });
  await openPage("/reports?from=2026-11-01&to=2026-12-01");
  const bars = page.getByRole("figure", { includeHidden: true });
  await expect(bars).toContainText("Sent by day");
  await expect(bars.locator("[title]")).toHaveCount(4);
  await expect(bars.getByTitle("Nov 3, 2026: 0")).toBeAttached();
  sent = { "2026-01-01": 1, "2026-01-07": 2, "2026-01-08": 4, "2026-12-31": 8 };
  await page.goto(page.url().replace("from=2026-11-01", "from=2026-01-01"));
  await expect(bars).toContainText("Sent by week");
  await expect(bars.locator("[title]")).toHaveCount(53);
  await expect(bars.getByTitle("Jan 1, 2026 to Jan 7, 2026: 3")).toBeAttached();
  await expect(bars.getByTitle("Dec 31, 2026: 8")).toBeAttached();
  expect(problems).toEqual([]);
});

test("the calls of no campaign are named by both their kinds in a report by campaign", async ({
  openPage,
  page,
  problems,
}) => {
  await page.route("**/api/v1/reports/calls?*", async (route) => {
    const response = await route.fetch();
    const { totals, ...answer } = await response.json();
    const row = { ...totals, campaign_id: null, campaign_name: null, calls: 3 };
    await route.fulfill({ response, json: { ...answer, totals, data: [row], next_cursor: null } });
  });
  await openPage("/reports?report=calls&by=campaign");
  await expect(page.getByRole("row", { name: /^Clicks and incoming calls/ })).toBeVisible();
  expect(problems).toEqual([]);
});
