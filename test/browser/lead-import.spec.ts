import { expect, test } from "./console-fixture.ts";

const csv = [
  "Mobile No.,Full Name,Remark,Met at",
  "98765 00271,Joan Clarke,,Bletchley",
  "98765 00272,Mavis Batey,,Oxford",
  "12,Grace,,Nowhere",
  "98765 00273,Joan Murray,,Bletchley",
  ",No number,,Nowhere",
].join("\n");

test("a file is mapped, checked and imported, its rejects are explained, and a saved view shows its leads", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/leads");
  await page.getByRole("link", { name: "Import" }).click();
  await expect(page.getByRole("heading", { name: "Import leads" })).toBeFocused();
  await page
    .getByLabel("CSV file")
    .setInputFiles({ name: "fair.csv", mimeType: "text/csv", buffer: Buffer.from(csv) });
  await expect(page.getByLabel("Mobile No.")).toHaveValue("phone");
  await expect(page.getByLabel("Full Name")).toHaveValue("name");
  // A violation of a column is at the column.
  await page.getByLabel("Mobile No.").selectOption("Not imported");
  await page.getByRole("button", { name: "Check the file" }).click();
  await expect(page.getByRole("alert")).toContainText("Phone number is required");
  await page.getByLabel("Mobile No.").selectOption("Phone number");
  await page.getByLabel("Met at").selectOption({ index: 8 });
  await page.getByRole("button", { name: "Check the file" }).click();
  const rejected = page.getByRole("table", { name: "Rows that would be rejected" });
  await expect(
    rejected.getByRole("row", { name: /^4 Phone number must be 10 digits/ }),
  ).toBeVisible();
  await expect(rejected.getByRole("row", { name: /^6 Phone number is required/ })).toBeVisible();
  await page.getByRole("button", { name: "Import 3 leads" }).click();
  await expect(page.getByText("Completed")).toBeVisible();
  await page.reload();
  await expect(page.getByText("Completed")).toBeVisible();
  await expect(page.getByRole("progressbar", { name: "Rows imported" })).toHaveAttribute(
    "aria-valuenow",
    "100",
  );
  await expect(
    page.getByRole("table", { name: "Rejected rows" }).getByRole("row", { name: /12 · Grace/ }),
  ).toBeVisible();
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download them" }).click();
  expect((await download).suggestedFilename()).toMatch(/^import-\d+-rejects\.csv$/);
  await page.getByRole("link", { name: "See the leads" }).click();

  await page.getByRole("searchbox", { name: "Search leads" }).fill("Joan");
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
  await expect(page.getByRole("row", { name: /Joan Murray/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /Mavis Batey/ })).toBeHidden();
  await expect(page.getByRole("columnheader", { name: "Priority" })).toBeHidden();
  await view.selectOption("All leads");
  await expect(page.getByRole("row", { name: /Mavis Batey/ })).toBeVisible();
  await view.selectOption("From the fair");
  await expect(page.getByRole("row", { name: /Mavis Batey/ })).toBeHidden();
  await page.getByRole("button", { name: "Delete view" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete view" }).click();
  await expect(view.getByRole("option")).toHaveText(["All leads"]);
  expect(problems).toEqual([]);
});
