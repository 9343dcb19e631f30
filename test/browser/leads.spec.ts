import { createLead, expect, test } from "./console-fixture.ts";

test("filters are in the address: reload, Back and a shared link show the same leads", async ({
  openPage,
  page,
  service,
}) => {
  await createLead(service, { phone: "9876500001", name: "Grace Hopper" });
  await createLead(service, { phone: "9876500002", name: "Alan Turing" });
  await openPage("/leads");
  await expect(page.getByRole("row", { name: /Grace Hopper/ })).toBeVisible();
  await page.getByRole("searchbox", { name: "Search leads" }).fill("Turing");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row", { name: /Grace Hopper/ })).toBeHidden();
  await page.reload();
  await expect(page.getByRole("row", { name: /Alan Turing/ })).toBeVisible();
  await expect(page.getByRole("searchbox", { name: "Search leads" })).toHaveValue("Turing");
  await page.getByRole("combobox", { name: "Status" }).selectOption("Contacted");
  await expect(page.getByText("No lead matches these filters")).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("row", { name: /Alan Turing/ })).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("row", { name: /Grace Hopper/ })).toBeVisible();
});
