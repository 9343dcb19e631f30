import { createLead, expect, test } from "./console-fixture.ts";

test("a status is added, moved by keyboard and archived, and a field of one's own is on every lead", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const lead = await createLead(service, { phone: "9876500081", name: "Radia Perlman" });
  await openPage("/settings/lead-fields");
  await page.getByRole("button", { name: "Add to Statuses" }).click();
  await page.getByLabel("Label").fill("Waiting");
  await page.getByRole("button", { name: "Save" }).click();
  const statuses = page.getByRole("list", { name: "Statuses" }).getByRole("listitem");
  await expect(statuses.last()).toContainText("Waiting");
  const count = await statuses.count();
  await page.getByRole("button", { name: "Move Waiting up" }).focus();
  await page.keyboard.press("Enter");
  await expect(statuses.nth(count - 2)).toContainText("Waiting");
  await expect(page.getByRole("list", { name: "Statuses" })).toHaveAttribute("aria-busy", "false");
  await page.reload();
  await expect(statuses.nth(count - 2)).toContainText("Waiting");
  await page.getByRole("button", { name: "Archive Waiting" }).click();
  await page.getByRole("button", { name: "Archive", exact: true }).click();
  await expect(statuses).toHaveCount(count - 1);
  await page.getByRole("button", { name: "Add a field" }).click();
  await page.getByLabel("Label").fill("Tier");
  await page.getByLabel("Key").fill("tier of it");
  await page.getByLabel("Type").selectOption("One of a list");
  await page.getByLabel("Choices").fill("Gold\nSilver");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByLabel("Key")).toBeFocused();
  await page.getByLabel("Key").fill("tier");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("list", { name: "Custom fields" })).toContainText("Tier");
  await page.goto(`${service.url}/leads/${lead}`);
  await page.getByLabel("Tier").selectOption("Silver");
  await expect(page.getByRole("list", { name: "Timeline" })).toContainText("Tier changed");
  expect(problems).toEqual([]);
});
