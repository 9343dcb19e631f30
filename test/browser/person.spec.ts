import { createLead, expect, follow, test } from "./console-fixture.ts";

test("an angry customer is found by number and suppressed within three clicks", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createLead(service, { phone: "9876500021", name: "Dorothy Vaughan" });
  await openPage("/leads");
  await page.getByRole("button", { name: "Find a person" }).click();
  await page.getByRole("combobox", { name: "Number, name or email" }).fill("9876500021");
  await expect(page.getByRole("option", { name: /Dorothy Vaughan/ })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "+919876500021" })).toBeFocused();
  const timeline = page.getByRole("list", { name: "Timeline" });
  await expect(timeline).toContainText("Dorothy Vaughan: Lead created");
  await page.getByRole("button", { name: "Suppress", exact: true }).click();
  await page.getByRole("button", { name: "Suppress number" }).click();
  const suppressions = page.getByRole("list", { name: "Suppressions in force" });
  await expect(suppressions).toContainText("No messages or calls");
  await expect(timeline.getByRole("listitem").first()).toContainText("No messages or calls");
  await expect(page.getByRole("button", { name: "Call", exact: true })).toBeHidden();
  await expect(page.getByRole("link", { name: "Message", exact: true })).toBeHidden();
  await page.getByRole("button", { name: "Lift" }).click();
  await expect(suppressions).toBeHidden();
  await expect(page.getByRole("button", { name: "Call", exact: true })).toBeVisible();
  await timeline.getByRole("link", { name: "Dorothy Vaughan: Lead created" }).click();
  await expect(page.getByRole("heading", { name: "Dorothy Vaughan" })).toBeFocused();
  expect(problems).toEqual([]);
});

test("a person who may get no marketing calls is offered no call, because every call counts as marketing", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createLead(service, { phone: "9876500281", name: "Jean Jennings" });
  await openPage("/people/+919876500281");
  await expect(page.getByRole("button", { name: "Call", exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Suppress", exact: true }).click();
  await page.getByLabel("Channel").selectOption("Calls");
  await page.getByLabel("Scope").selectOption("Marketing only");
  await page.getByRole("button", { name: "Suppress number" }).click();
  const suppressions = page.getByRole("list", { name: "Suppressions in force" });
  await expect(suppressions).toContainText("No calls");
  await expect(page.getByRole("button", { name: "Call", exact: true })).toBeHidden();
  await expect(page.getByRole("link", { name: "Message", exact: true })).toBeVisible();
  expect(problems).toEqual([]);
});

test("a person is called, seen live on the timeline, and written to", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createLead(service, { phone: "9876500024", name: "Kathleen Antonelli" });
  // A draft that was begun is not the one to this person.
  await openPage("/chat/campaigns/new");
  await page.getByLabel("Campaign name").fill("Another");
  await follow(page, "/people/+919876500024");
  await expect(page.getByRole("heading", { name: /^Kathleen Antonelli/ })).toBeVisible();
  await page.getByRole("button", { name: "Call" }).click();
  const phone = page.getByLabel("Your extension or phone number");
  await phone.fill("not a phone");
  await page.getByRole("dialog").getByRole("button", { name: "Call" }).click();
  await expect(phone).toBeFocused();
  await expect(phone).toHaveAccessibleDescription(/must be/);
  await phone.fill("101");
  await page.getByRole("dialog").getByRole("button", { name: "Call" }).click();
  await expect(page.getByRole("heading", { name: "Dialer" })).toBeFocused();
  await page.getByRole("link", { name: "Details" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Kathleen Antonelli");
  await page.getByRole("link", { name: "Everything about Kathleen Antonelli" }).click();
  await expect(
    page.getByRole("heading", { name: "Kathleen Antonelli +919876500024" }),
  ).toBeVisible();
  const timeline = page.getByRole("list", { name: "Timeline" });
  await expect(timeline).toContainText(/Call: (ringing|in progress|completed)/);
  await page.getByRole("link", { name: "Message" }).click();
  await expect(page.getByLabel("Numbers")).toHaveValue("+919876500024,Kathleen Antonelli");
  const continued = page.getByText("You continue the draft");
  const name = page.getByLabel("Campaign name");
  await expect(continued).toBeHidden();
  await name.fill("Only to her");
  await page.reload();
  await expect(name).toHaveValue("Only to her");
  await follow(page, "/chat/campaigns/new");
  await expect(name).toHaveValue("Another");
  await expect(continued).toBeVisible();
  await page.getByRole("button", { name: "Discard draft" }).click();
  await page.getByRole("button", { name: "Discard", exact: true }).click();
  await page.goBack();
  await expect(name).toHaveValue("Only to her");
  expect(problems).toEqual([]);
});

test("a person is reached from a lead, and erased when the number is typed", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createLead(service, { phone: "9876500023", name: "Christine Darden" });
  await openPage("/leads");
  await page.getByRole("link", { name: "Christine Darden" }).click();
  await page.getByRole("link", { name: "Everything about 9876500023" }).click();
  await expect(page.getByRole("list", { name: "Timeline" })).toContainText("Christine Darden");
  await page.getByRole("button", { name: "Erase" }).click();
  const number = page.getByLabel("Type the number to confirm");
  await number.fill("9876500024");
  await page.getByRole("button", { name: "Erase for good" }).click();
  await expect(page.getByText("Type 9876500023 to confirm.")).toBeVisible();
  await number.fill("9876500023");
  await page.getByRole("button", { name: "Erase for good" }).click();
  await expect(page.getByText(/^Erased: leads 1, contacts 1/)).toBeVisible();
  await expect(page.getByText("Christine Darden")).toHaveCount(0);
  // The erasure is theirs alone.
  await createLead(service, { phone: "9876500025", name: "Raye Montague" });
  await page.keyboard.press("Control+K");
  await page.getByRole("combobox", { name: "Number, name or email" }).fill("9876500025");
  await expect(page.getByRole("option", { name: /Raye Montague/ })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "+919876500025" })).toBeFocused();
  await expect(page.getByRole("list", { name: "Timeline" })).toContainText("Raye Montague");
  await expect(page.getByText(/^Erased: /)).toHaveCount(0);
  expect(problems).toEqual([]);
});

test("a person is found and suppressed by keyboard alone", async ({ openPage, page, service }) => {
  await createLead(service, { phone: "9876500022", name: "Beatrice Worsley" });
  await openPage("/leads");
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: "Number, name or email" })).toBeFocused();
  await page.keyboard.type("Worsley");
  await expect(page.getByRole("option", { name: /Beatrice Worsley/ })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "+919876500022" })).toBeFocused();
  const suppress = page.getByRole("button", { name: "Suppress", exact: true });
  for (const name of ["Message", "Call"]) {
    await page.keyboard.press("Tab");
    await expect(page.getByRole(name === "Call" ? "button" : "link", { name })).toBeFocused();
  }
  await page.keyboard.press("Tab");
  await expect(suppress).toBeFocused();
  await page.keyboard.press("Enter");
  await page.getByLabel("Reason").focus();
  await page.keyboard.type("Asked by phone");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("list", { name: "Suppressions in force" })).toContainText(
    "Asked by phone",
  );
  await expect(suppress).toBeFocused();
});

test("to suppress a number whose suppression lasts longer says that this one stays, and how to change it", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createLead(service, { phone: "9876500271", name: "Mary Kenneth Keller" });
  const stays = page.getByText("Nothing was changed: this number is suppressed already.");
  await openPage("/people/+919876500271");
  const suppressions = page.getByRole("list", { name: "Suppressions in force" });
  await page.getByRole("button", { name: "Suppress", exact: true }).click();
  await page.getByLabel("Reason").fill("Asked by phone");
  await page.getByRole("button", { name: "Suppress number" }).click();
  await expect(suppressions).toContainText("Asked by phone");
  await page.getByRole("button", { name: "Suppress", exact: true }).click();
  await page.getByLabel("Reason").fill("Asked by mail");
  await page.getByLabel("Until").fill("2099-01-01T10:00");
  await page.getByRole("button", { name: "Suppress number" }).click();
  await expect(stays).toBeVisible();
  await expect(page.getByRole("dialog")).toContainText("Asked by phone · until someone lifts it");
  await expect(page.getByRole("dialog")).toContainText("choose Lift");
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(suppressions).toContainText("Asked by phone");
  await follow(page, "/suppressions");
  await page.getByRole("button", { name: "Suppress numbers" }).click();
  await page.getByRole("textbox", { name: "Numbers" }).fill("9876500271");
  await page.getByRole("button", { name: "Suppress", exact: true }).click();
  await expect(stays).toBeVisible();
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("dialog")).toBeHidden();
  expect(problems).toEqual([]);
});

test("the list of erasures shows that one is done without a reload", async ({
  openPage,
  page,
  service,
}) => {
  await fetch(`${service.url}/api/v1/erasures`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${service.demo.tokens["account"]}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ phone_number: "9876500026" }),
  });
  let isDone = false;
  await page.route("**/api/v1/erasures?*", async (route) => {
    const response = await route.fetch();
    const { data, next_cursor } = await response.json();
    const pending = data.map((one: object) => ({ ...one, state: "pending", finished_at: null }));
    await route.fulfill({ response, json: { data: isDone ? data : pending, next_cursor } });
  });
  await openPage("/settings/erasures");
  const row = page.getByRole("row", { name: /\*26 / });
  await expect(row).toContainText("In progress");
  isDone = true;
  await expect(row).not.toContainText("In progress");
});
