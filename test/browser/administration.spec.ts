import { createLead, expect, loseAnswer, test } from "./console-fixture.ts";

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

test("a dialog stays open when its list cannot be read again", async ({
  openPage,
  page,
  service,
}) => {
  await createLead(service, { phone: "9876500074", name: "Hedy Lamar" });
  const lists = [
    ["/contacts?q=9876500074", "**/workspaces/1/contacts?*"],
    ["/chat/numbers", "**/api/v1/chat/numbers*"],
  ] as const;
  for (const [path, list] of lists) {
    await openPage(path);
    await page
      .getByRole("button", { name: /^Change / })
      .first()
      .click();
    const name = page.getByRole("dialog").getByLabel("Name");
    await name.fill("Hedy Lamarr");
    let refused = 0;
    await page.route(list, (route) => {
      refused += 1;
      return route.fulfill({ status: 403, json: { detail: "Not now" } });
    });
    await expect
      .poll(async () => {
        // The window has the focus again, after what it shows has become stale.
        await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
        return refused;
      })
      .toBeGreaterThan(0);
    await expect(page.getByText("Not now")).toBeAttached();
    await expect(name).toHaveValue("Hedy Lamarr");
  }
});

test("a chat flow is written, corrected at its fields, changed and deleted", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/chat/flows");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "New chat flow" }).click();
  await dialog.getByLabel("Name").fill("Call back");
  await dialog.getByLabel("Text").fill("Hello {{1}}, shall we call you?");
  await dialog.getByLabel("Buttons").fill("Yes\nA label that is far too long for a button");
  await dialog.getByRole("button", { name: "Create flow" }).click();
  await expect(dialog.getByLabel("Buttons")).toBeFocused();
  await dialog.getByLabel("Buttons").fill("Yes\nNo");
  await dialog.getByRole("button", { name: "Create flow" }).click();
  const row = page.getByRole("row", { name: /Call back/ });
  await expect(row).toContainText("Yes, No");
  await row.getByRole("button", { name: "Change Call back" }).click();
  await dialog.getByLabel("Campaigns may use it").uncheck();
  await dialog.getByLabel("Buttons").fill("");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(row).toContainText("Inactive");
  await expect(row).toContainText("None");
  await row.getByRole("button", { name: "Delete Call back" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(row).toHaveCount(0);
  expect(problems).toEqual([]);
});

test("a template gets the picture that campaigns send with it, and defaults of its variables", async ({
  openPage,
  page,
  service,
  problems,
}) => {
  const answer = await fetch(`${service.url}/api/v1/chat/templates`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${service.demo.tokens["account"]}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({
      chat_number_id: 1,
      name: "with_picture",
      language: "en",
      category: "UTILITY",
      components: [
        { type: "HEADER", format: "IMAGE", example: { header_handle: ["4::aW"] } },
        { type: "BODY", text: "Hello {{1}}, look.", example: { body_text: [["Ada"]] } },
      ],
    }),
  });
  expect(answer.status).toBe(201);
  const { id } = (await answer.json()) as { id: number };
  await openPage(`/chat/templates/${id}`);
  const media = page.getByRole("region", { name: "File above the text" });
  await media.getByLabel("Choose it").setInputFiles({
    name: "note.png",
    mimeType: "image/png",
    buffer: Buffer.from("no picture"),
  });
  await expect(media.getByRole("alert")).toBeVisible();
  await media.getByLabel("Choose it").setInputFiles({
    name: "dot.png",
    mimeType: "image/png",
    buffer: Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==",
      "base64",
    ),
  });
  await expect(media.getByLabel("Replace it")).toBeVisible();
  await page.getByRole("button", { name: "Defaults" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("{{1}}").fill("there");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("1 (has a default)")).toBeVisible();
  expect(problems).toEqual([]);
});

test("a test message whose answer is lost is sent once, however often the button is pressed", async ({
  openPage,
  page,
}) => {
  await loseAnswer(page, "**/api/v1/chat/campaigns/test");
  await openPage("/chat/templates/1");
  await page.getByRole("button", { name: "Send a test" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("To").fill("919876500073");
  await dialog.getByLabel("{{1}}").fill("Ada");
  await dialog.getByRole("button", { name: "Send the message" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  const repeated = page.waitForResponse("**/api/v1/chat/campaigns/test");
  await dialog.getByRole("button", { name: "Send the message" }).click();
  expect((await repeated).headers()["idempotency-replayed"]).toBe("true");
  await expect(page.getByText("Sent", { exact: true })).toBeVisible();
  // After an answer, the same message is another one.
  await page.getByRole("button", { name: "Send a test" }).click();
  await dialog.getByLabel("To").fill("919876500073");
  await dialog.getByLabel("{{1}}").fill("Ada");
  const another = page.waitForResponse("**/api/v1/chat/campaigns/test");
  await dialog.getByRole("button", { name: "Send the message" }).click();
  expect((await another).headers()["idempotency-replayed"]).toBeUndefined();
});
