import { createLead, expect, test } from "./console-fixture.ts";

test("a chat number is added, made inactive and deleted, and a test message is sent from another", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/chat/numbers");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add a sandbox number" }).click();
  await dialog.getByLabel("Name").fill("Support line");
  await dialog.getByLabel("Phone number").fill("12");
  await dialog.getByRole("button", { name: "Add the number" }).click();
  await expect(dialog.getByText("must be a phone number with its country code")).toBeVisible();
  await dialog.getByLabel("Phone number").fill("+919000000088");
  await dialog.getByRole("button", { name: "Add the number" }).click();
  const row = page.getByRole("row", { name: /Support line/ });
  await expect(row).toContainText("Ready");
  await row.getByRole("button", { name: "Refresh Support line" }).click();
  await row.getByRole("button", { name: "Change Support line" }).click();
  await dialog.getByLabel("Campaigns may use it").uncheck();
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(row).toContainText("Inactive");
  await row.getByRole("button", { name: "Delete Support line" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(row).toHaveCount(0);

  await page.goto(new URL("/chat/templates/1", page.url()).href);
  await page.getByRole("button", { name: "Send a test" }).click();
  await dialog.getByLabel("To").fill("919876777002");
  await dialog.getByRole("button", { name: "Send the message" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await dialog.getByLabel("To").fill("919876500072");
  await dialog.getByLabel("{{1}}").fill("Ada");
  await dialog.getByRole("button", { name: "Send the message" }).click();
  await expect(page.getByText("Sent", { exact: true })).toBeVisible();
  expect(problems).toEqual([]);
});

test("an account's credential is set without being shown, and deleted", async ({
  openPage,
  page,
}) => {
  await openPage("/chat/numbers");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Set a credential" }).click();
  await dialog.getByLabel("Account", { exact: true }).fill("2");
  await dialog.getByLabel("Access token").fill("EAAGsecret");
  await dialog.getByLabel("App secret").fill("half");
  await dialog.getByRole("button", { name: "Set the credential" }).click();
  await expect(dialog.getByText("is required with app_secret")).toBeVisible();
  await dialog.getByLabel("App secret").fill("");
  await dialog.getByRole("button", { name: "Set the credential" }).click();
  const table = page.getByRole("table", { name: /WhatsApp credential/ });
  await expect(table).toContainText("The installation’s app");
  await expect(page.getByText("EAAGsecret")).toHaveCount(0);
  await table.getByRole("button", { name: /^Delete/ }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(table).toHaveCount(0);
});

test("a contact is found and corrected, and a workspace is opened and closed", async ({
  openPage,
  page,
  service,
  problems,
}) => {
  await createLead(service, { phone: "9876500073", name: "Grace Hoper" });
  await openPage("/contacts");
  await page.getByRole("searchbox").fill("9876500073");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("table").getByRole("row")).toHaveCount(2);
  await page.getByRole("button", { name: "Change Grace Hoper" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Grace Hopper");
  await dialog.getByLabel("Time zone").fill("Nowhere/Land");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByLabel("Time zone")).toBeFocused();
  await dialog.getByLabel("Time zone").fill("America/New_York");
  await dialog.getByRole("button", { name: "Save" }).click();
  const row = page.getByRole("row", { name: /Grace Hopper/ });
  await expect(row).toContainText("America/New_York");

  await page.goto(new URL("/settings/workspaces", page.url()).href);
  await page.getByRole("button", { name: "New workspace" }).click();
  await dialog.getByLabel("Name").fill("Branch office");
  await dialog.getByRole("button", { name: "Create workspace" }).click();
  await page.getByRole("link", { name: "Branch office" }).click();
  await expect(page.getByRole("combobox", { name: "Workspace" })).toContainText("Branch office");
  await page.goBack();
  await page.getByRole("button", { name: "Change Branch office" }).click();
  await dialog.getByRole("checkbox").uncheck();
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("row", { name: /Branch office/ })).toContainText("Inactive");
  await page.goto(new URL("/leads", page.url()).href);
  await expect(page.getByRole("heading", { name: "Leads" })).toBeVisible();
  await expect(page.getByText("Branch office")).toHaveCount(0);
  expect(problems).toEqual([]);
});
