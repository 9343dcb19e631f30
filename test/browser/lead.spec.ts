import {
  createCampaign,
  createLead,
  expect,
  holdRequests,
  loseAnswer,
  sendField,
  test,
} from "./console-fixture.ts";

test("a lead opens from the list, is edited field by field, and its timeline shows it", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createLead(service, { phone: "9876500011", name: "Katherine Johnson" });
  await openPage("/leads");
  await page.getByRole("link", { name: "Katherine Johnson" }).click();
  await expect(page.getByRole("heading", { name: "Katherine Johnson" })).toBeFocused();
  const timeline = page.getByRole("list", { name: "Timeline" });
  await expect(timeline).toContainText("Lead created");

  await page.getByLabel("Status").selectOption("Contacted");
  await expect(timeline).toContainText(/Status changed from .+ to Contacted/);
  await expect(page.getByText("Saved", { exact: true }).first()).toBeVisible();
  await expect(page.getByRole("link", { name: "Message", exact: true })).toBeVisible();

  await page.getByLabel("Email").fill("not an address");
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Email")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByLabel("Email")).toHaveAccessibleDescription(/email/i);
  await page.getByLabel("Email").fill("katherine@example.com");
  await page.keyboard.press("Enter");
  await expect(timeline).toContainText("Email changed");
  await expect(page.getByLabel("Email")).not.toHaveAttribute("aria-invalid", "true");

  await page.getByLabel("Note", { exact: true }).fill("Asked to be called on Monday");
  await page.getByRole("link", { name: "Leads", exact: true }).click();
  const question = page.getByRole("dialog", { name: "Discard your changes?" });
  await question.getByRole("button", { name: "Stay" }).click();
  await page.getByRole("button", { name: "Add note" }).click();
  await expect(timeline.getByRole("listitem").first()).toContainText(
    "Asked to be called on Monday",
  );
  await expect(page.getByLabel("Note", { exact: true })).toHaveValue("");

  await page.reload();
  await expect(page.getByLabel("Email")).toHaveValue("katherine@example.com");
  await page.goBack();
  await expect(page.getByRole("row", { name: /Katherine Johnson.*Contacted/ })).toBeVisible();
  expect(problems).toEqual([]);
});

test("a lead's timeline has the messages, replies and calls of its number", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createLead(service, { phone: "9813777005", name: "Evelyn Boyd" });
  await openPage("/leads");
  await page.getByRole("link", { name: "Evelyn Boyd" }).click();
  const timeline = page.getByRole("list", { name: "Timeline" });
  await expect(timeline).toContainText("Lead created");
  // The sandbox answers "yes" for this number.
  await createCampaign(service, "Of a lead", ["919813777005"]);
  await expect(timeline.getByRole("link", { name: "Replied" })).toBeVisible();
  await expect(timeline.getByRole("link", { name: "Message of Of a lead" })).toBeVisible();
  expect(problems).toEqual([]);
});

test("hidden columns stay hidden in this browser", async ({ openPage, page, service }) => {
  await createLead(service, { phone: "9876500012", name: "Mary Jackson" });
  await openPage("/leads");
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Source" }).uncheck();
  await expect(page.getByRole("columnheader", { name: "Source" })).toBeHidden();
  await page.reload();
  await expect(page.getByRole("columnheader", { name: "Priority" })).toBeVisible();
  await expect(page.getByRole("columnheader", { name: "Source" })).toBeHidden();
});

test("a collaborator is chosen with the keyboard and added by the button only", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const id = await createLead(service, { phone: "9876500064", name: "Evelyn Granville" });
  const writes: string[] = [];
  page.on("request", (request) => request.method() === "PUT" && writes.push(request.url()));
  await openPage(`/leads/${id}?workspace=1`);
  const select = page.getByRole("combobox", { name: "Add a collaborator" });
  await select.focus();
  await page.keyboard.press("ArrowDown");
  await expect(select).not.toHaveValue("");
  const add = page.getByRole("button", { name: "Add", exact: true });
  await expect(add).toBeEnabled();
  expect(writes).toEqual([]);
  await add.click();
  await expect(page.getByRole("button", { name: /^Remove / })).toHaveCount(1);
  expect(problems).toEqual([]);
});

test("a choice by arrow keys is saved once, with Enter or when the focus moves on", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const id = await createLead(service, { phone: "9876500067", name: "Annie Easley" });
  const writes: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "PATCH") writes.push(request.postData()!);
  });
  await openPage(`/leads/${id}?workspace=1`);
  const timeline = page.getByRole("list", { name: "Timeline" });
  const status = page.getByRole("combobox", { name: "Status" });
  await expect(status.getByRole("option", { name: "Qualified" })).toHaveCount(1);
  await status.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(status.getByRole("option", { name: "Qualified", selected: true })).toHaveCount(1);
  await page.keyboard.press("Tab");
  await expect(timeline).toContainText("Status changed from New to Qualified");
  expect(writes).toHaveLength(1);
  const priority = page.getByRole("combobox", { name: "Priority" });
  await priority.focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await expect(timeline).toContainText("Priority changed from Medium to Low");
  await page.keyboard.press("Tab");
  await page.reload();
  await expect(timeline).toContainText("Priority changed from Medium to Low");
  expect(writes).toHaveLength(2);
  expect(problems).toEqual([]);
});

test("a note whose answer is lost is added once, and the next one is not wiped when it is saved", async ({
  openPage,
  page,
  service,
}) => {
  const id = await createLead(service, { phone: "9876500065", name: "Melba Roy Mouton" });
  await openPage(`/leads/${id}?workspace=1`);
  const note = page.getByLabel("Note", { exact: true });
  const add = page.getByRole("button", { name: "Add note" });
  await loseAnswer(page, "**/notes");
  await note.fill("Call on Monday");
  await add.click();
  await expect(page.getByRole("alert")).toBeVisible();
  await expect(note).toHaveValue("Call on Monday");
  const release = await holdRequests(page, "POST", "**/notes");
  await add.click();
  await note.fill("Bring the contract");
  release();
  const timeline = page.getByRole("list", { name: "Timeline" });
  await expect(timeline).toContainText("Call on Monday");
  await expect(add).not.toHaveAttribute("aria-busy", "true");
  await expect(note).toHaveValue("Bring the contract");
  await add.click();
  await expect(timeline).toContainText("Bring the contract");
  await expect(timeline.getByText("Call on Monday")).toHaveCount(1);
  await expect(note).toHaveValue("");
});

test("what is typed or ticked while a field is saved stays, and is saved after it", async ({
  openPage,
  page,
  service,
}) => {
  const { id: field_id } = await sendField(service, "POST", "", {
    key: "gable",
    label: "Gable",
    type: "multiselect",
    options: ["Flat", "Tiled"],
  });
  const id = await createLead(service, { phone: "9876500066", name: "Dana Ulery" });
  const path = `**/leads/${id}`;
  await openPage(`/leads/${id}?workspace=1`);
  const timeline = page.getByRole("list", { name: "Timeline" });
  const email = page.getByLabel("Email");
  const release = await holdRequests(page, "PATCH", path);
  await email.fill("dana@example.com");
  await email.press("Enter");
  await email.fill("dana.ulery@example.com");
  release();
  await expect(timeline).toContainText("Email changed");
  await expect(email).toHaveValue("dana.ulery@example.com");
  await email.press("Enter");
  await expect(timeline.getByText("Email changed")).toHaveCount(2);
  await page.unroute(path);

  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let patches = 0;
  await page.route(path, async (route) => {
    if (route.request().method() === "PATCH") await gates[patches++]!.promise;
    await route.continue();
  });
  const gable = page.getByRole("group", { name: "Gable" });
  await gable.getByLabel("Flat").check();
  await gable.getByLabel("Tiled").check();
  gates[0]!.resolve();
  await expect(timeline.getByText("Gable changed")).toHaveCount(1);
  await expect(gable.getByLabel("Tiled")).toBeChecked();
  gates[1]!.resolve();
  await expect(timeline.getByText("Gable changed")).toHaveCount(2);
  await page.reload();
  await expect(email).toHaveValue("dana.ulery@example.com");
  await expect(gable.getByLabel("Flat")).toBeChecked();
  await expect(gable.getByLabel("Tiled")).toBeChecked();
  await sendField(service, "PATCH", `/${field_id}`, { archived: true });
});

test("a call asks before it discards a note that is being typed", async ({
  openPage,
  page,
  service,
}) => {
  const id = await createLead(service, { phone: "9876500067", name: "Annie Easley" });
  await openPage(`/leads/${id}?workspace=1`);
  const note = page.getByLabel("Note", { exact: true });
  await note.fill("Wants a quote");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  const call = page.getByRole("dialog", { name: "Call this number" });
  await call.getByLabel("Your extension or phone number").fill("101");
  await call.getByRole("button", { name: "Call", exact: true }).click();
  const question = page.getByRole("dialog", { name: "Discard your changes?" });
  await question.getByRole("button", { name: "Stay" }).click();
  await expect(note).toHaveValue("Wants a quote");
});

test("a lead's phone is taken with its country code, and one of another country is refused with what would be right", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const id = await createLead(service, { phone: "9876500571", name: "Mary Ross" });
  await openPage(`/leads/${id}?workspace=1`);
  const phone = page.getByLabel("Phone", { exact: true });
  await phone.fill("+91 98765-00572");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("list", { name: "Timeline" })).toContainText("Phone changed");
  await expect(phone).toHaveValue("9876500572");
  await phone.fill("+44 7911 123456");
  await page.keyboard.press("Enter");
  await expect(phone).toHaveAttribute("aria-invalid", "true");
  await expect(phone).toHaveAccessibleDescription(/^Ten digits, with or without \+91\. Phone must/);
  await page.reload();
  await expect(phone).toHaveValue("9876500572");
  expect(problems).toEqual([]);
});
