// What a page omits or draws small on a phone can still be seen there.
import { createCampaign, expect, test } from "./console-fixture.ts";

test.use({ viewport: { width: 390, height: 844 } });

test("a table shows all its columns when asked to, and scrolls within itself", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createCampaign(service, "Seen with all columns", ["919876500261"]);
  await openPage("/settings/credits");
  const table = page.getByRole("table", { name: "Movements of credit" });
  await expect(table).toContainText("Set aside");
  const reason = table.getByRole("columnheader", { name: "For" });
  await expect(reason).toBeHidden();
  await page.getByRole("button", { name: "All columns" }).click();
  await expect(reason).toBeVisible();
  await expect(table.getByRole("link", { name: /^Chat campaign/ }).first()).toBeVisible();
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(390);
  await page.getByRole("button", { name: "Fewer columns" }).click();
  await expect(reason).toBeHidden();
  expect(problems).toEqual([]);
});

test("the drawing of a menu has readable steps, and begins at the first", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/voice/menus/1");
  const steps = page.locator(".react-flow__node");
  const first = steps.filter({ hasText: "▶" });
  await expect(first).toBeInViewport({ ratio: 0.9 });
  // At 0.8 of its size, a text is 9.6 pixels high.
  await expect.poll(async () => (await first.boundingBox())!.width).toBeGreaterThanOrEqual(150);
  await steps.last().scrollIntoViewIfNeeded();
  await expect(steps.last()).toBeInViewport();
  expect(problems).toEqual([]);
});
