import { createCampaign, expect, test } from "./console-fixture.ts";

test("a reply appears live, is answered, and who is angry is suppressed from there", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await openPage("/chat/replies");
  await expect(page.getByRole("heading", { name: "Replies" })).toBeVisible();
  // The sandbox answers "yes" for this number.
  await createCampaign(service, "Answered", ["919811777005"]);
  const people = page.getByRole("list", { name: "People who replied" });
  await people.getByRole("link", { name: "+919811777005" }).click();
  await expect(page.getByRole("heading", { name: "+919811777005" })).toBeFocused();
  await page.getByRole("button", { name: "Send answer" }).click();
  await expect(page.getByText("must not be empty")).toBeVisible();
  await expect(page.getByLabel("Answer")).toBeFocused();
  await page.getByLabel("Answer").fill("We will call you at 3 pm.");
  await page.getByRole("button", { name: "Send answer" }).click();
  const messages = page.getByRole("list", { name: "Messages" });
  await expect(messages).toContainText("We will call you at 3 pm.");
  await expect(page.getByLabel("Answer")).toHaveValue("");
  await page.getByRole("link", { name: "Person" }).click();
  await page.getByRole("button", { name: "Suppress", exact: true }).click();
  await page.getByRole("button", { name: "Suppress number" }).click();
  await expect(page.getByRole("list", { name: "Suppressions in force" })).toBeVisible();
  expect(problems).toEqual([]);
});

test("many numbers are suppressed at once, found by a filter and lifted with a reason", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/suppressions");
  await page.getByRole("button", { name: "Suppress numbers" }).click();
  await page.getByRole("textbox", { name: "Numbers" }).fill("12");
  await page.getByRole("button", { name: "Suppress", exact: true }).click();
  await expect(page.getByRole("textbox", { name: "Numbers" })).toBeFocused();
  await page.getByRole("textbox", { name: "Numbers" }).fill("9876500031\n9876500032\n12");
  await page.getByRole("button", { name: "Suppress", exact: true }).click();
  await expect(page.getByRole("list", { name: "Rejected rows" })).toContainText("Row 4");
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByLabel("Source").selectOption({ label: "Imported" });
  await expect(page).toHaveURL(/source=import/);
  await page.getByRole("button", { name: "Lift the suppression of +919876500031" }).click();
  await page.getByLabel("Reason").fill("Asked for messages again");
  await page.getByRole("button", { name: "Lift suppression" }).click();
  await expect(page.getByRole("link", { name: "+919876500031" })).toBeHidden();
  await expect(page.getByRole("link", { name: "+919876500032" })).toBeVisible();
  expect(problems).toEqual([]);
});
