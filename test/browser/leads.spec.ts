import { expect, test } from "./console-fixture.ts";

test("filters are in the address: reload, Back and a shared link show the same leads", async ({
  openPage,
  page,
  service,
}) => {
  const headers = {
    authorization: `Bearer ${service.demo.tokens["account"]}`,
    "content-type": "application/json",
  };
  for (const [phone, name] of [
    ["9876500001", "Grace Hopper"],
    ["9876500002", "Alan Turing"],
  ])
    await fetch(`${service.url}/api/v1/crm/workspaces/1/leads/create`, {
      method: "POST",
      headers,
      body: JSON.stringify({ phone, name }),
    });
  await openPage("/leads");
  await expect(page.getByRole("row", { name: /Grace Hopper/ })).toBeVisible();
  await page.getByRole("searchbox", { name: "Search leads" }).fill("Turing");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row", { name: /Grace Hopper/ })).toBeHidden();
  await page.reload();
  await expect(page.getByRole("row", { name: /Alan Turing/ })).toBeVisible();
  await expect(page.getByRole("searchbox", { name: "Search leads" })).toHaveValue("Turing");
  await page.getByLabel("Status").selectOption("Contacted");
  await expect(page.getByText("No lead matches these filters")).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("row", { name: /Alan Turing/ })).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("row", { name: /Grace Hopper/ })).toBeVisible();
});
