import { createLead, expect, test } from "./console-fixture.ts";

test("a saved view shows the same leads and columns after a reload", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createLead(service, { phone: "9876500031", name: "Joan Clarke" });
  await createLead(service, { phone: "9876500032", name: "Mavis Batey" });
  await openPage("/leads");
  await page.getByRole("searchbox", { name: "Search leads" }).fill("Clarke");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row", { name: /Mavis Batey/ })).toBeHidden();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Priority" }).uncheck();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Save as view" }).click();
  await page.getByLabel("Name").fill("From the fair");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const view = page.getByRole("combobox", { name: "View" });
  await expect(view.getByRole("option", { selected: true })).toHaveText("From the fair");
  await page.reload();
  await expect(page.getByRole("row", { name: /Joan Clarke/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /Mavis Batey/ })).toBeHidden();
  await expect(page.getByRole("columnheader", { name: "Priority" })).toBeHidden();
  await view.selectOption("All leads");
  await expect(page.getByRole("row", { name: /Mavis Batey/ })).toBeVisible();
  await view.selectOption("From the fair");
  await expect(page.getByRole("row", { name: /Mavis Batey/ })).toBeHidden();
  await page.getByRole("button", { name: "Delete view" }).click();
  await page
    .getByRole("alertdialog")
    .or(page.getByRole("dialog"))
    .getByRole("button", { name: "Delete view" })
    .click();
  await expect(view.getByRole("option")).toHaveText(["All leads"]);
  await expect(page.getByRole("row", { name: /Joan Clarke/ })).toBeVisible();
  expect(problems).toEqual([]);
});
