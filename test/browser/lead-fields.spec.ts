import {
  createLead,
  expect,
  holdRequests,
  sendField,
  test,
  type Service,
} from "./console-fixture.ts";

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

test("a lead's page shows a required field without a value as not set, and keeps removed choices", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const add = (field: object) => sendField(service, "POST", "", field);
  const change = ({ id }: { id: number }, patch: object) =>
    sendField(service, "PATCH", `/${id}`, patch);
  const options = ["Bronze", "Copper", "Iron"];
  const medal = await add({ key: "medal", label: "Medal", type: "select", options });
  const metals = await add({ key: "metals", label: "Metals", type: "multiselect", options });
  const customFields = { medal: "Bronze", metals: ["Bronze", "Copper"] };
  const lead = await createLead(service, {
    phone: "9876500088",
    name: "Barbara Liskov",
    customFields,
  });
  const signed = await add({ key: "signed", label: "Signed", type: "boolean", required: true });
  const grade = await add({
    key: "grade",
    label: "Grade",
    type: "select",
    options: ["A", "B"],
    required: true,
  });
  for (const field of [medal, metals])
    await change(field, { options: ["Copper", "Iron"], required: true });

  await openPage(`/leads/${lead}?workspace=1`);
  const timeline = page.getByRole("list", { name: "Timeline" });
  const shown = (label: string) =>
    page.getByLabel(label, { exact: true }).locator("option:checked");
  for (const label of ["Signed", "Grade"]) await expect(shown(label)).toHaveText("Not set");
  await page.getByLabel("Signed", { exact: true }).selectOption("Yes");
  await expect(timeline).toContainText("Signed changed");
  await expect(page.getByLabel("Signed", { exact: true }).getByText("Not set")).toHaveCount(0);
  await expect(shown("Medal")).toHaveText("Bronze");
  const group = page.getByRole("group", { name: "Metals" });
  await expect(group.getByLabel("Bronze")).toBeChecked();
  await group.getByLabel("Iron").check();
  await expect(timeline).toContainText("Metals changed");
  await page.reload();
  for (const metal of options) await expect(group.getByLabel(metal)).toBeChecked();
  await expect(shown("Signed")).toHaveText("Yes");
  // `uncheck` would wait for the box, which disappears.
  await group.getByLabel("Bronze").click();
  await expect(group.getByLabel("Bronze")).toHaveCount(0);
  for (const field of [medal, metals, signed, grade]) await change(field, { archived: true });
  expect(problems).toEqual([]);
});

test("a new lead gets a value of each required field in its dialog, which names a violation of a field that it lacks", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const add = (field: object) => sendField(service, "POST", "", { ...field, required: true });
  const addChoice = (field: object) =>
    sendField(service, "POST", "", { ...field, required: true, options: ["North", "South"] });
  const fields = [
    await add({ key: "deed", label: "Deed", type: "text" }),
    await add({ key: "acres", label: "Acres", type: "number" }),
    await add({ key: "measured", label: "Measured on", type: "date" }),
    await add({ key: "fenced", label: "Fenced", type: "boolean" }),
    await addChoice({ key: "side", label: "Side", type: "select" }),
    await addChoice({ key: "gates", label: "Gates", type: "multiselect" }),
  ];
  await openPage("/leads");
  await page.getByRole("button", { name: "New lead" }).click();
  const dialog = page.getByRole("dialog", { name: "New lead" });
  await dialog.getByLabel("Phone number").fill("12");
  await dialog.getByLabel("Acres").fill("0x1F");
  fields.push(await add({ key: "owner_since", label: "Owner since", type: "date" }));
  await dialog.getByRole("button", { name: "Create lead" }).click();
  await expect(dialog.getByLabel("Deed")).toHaveAccessibleDescription("Deed is required.");
  await expect(dialog.getByLabel("Acres")).toHaveAccessibleDescription("Acres must be a number.");
  await expect(dialog.getByText("customFields.owner_since is required.")).toBeVisible();
  await sendField(service, "PATCH", `/${fields.at(-1)!.id}`, { archived: true });
  await dialog.getByLabel("Phone number").fill("9876500551");
  await dialog.getByLabel("Deed").fill("B 17");
  await dialog.getByLabel("Acres").fill("2.5");
  await dialog.getByLabel("Measured on").fill("2026-03-31");
  await dialog.getByLabel("Fenced").selectOption("No");
  await dialog.getByLabel("Side").selectOption("South");
  await dialog.getByRole("group", { name: "Gates" }).getByLabel("North").check();
  const sent = page.waitForRequest("**/leads/create");
  await dialog.getByRole("button", { name: "Create lead" }).click();
  await expect(page).toHaveURL(/\/leads\/\d+\b/);
  expect((await sent).postDataJSON().customFields).toEqual({
    deed: "B 17",
    acres: 2.5,
    measured: "2026-03-31",
    fenced: false,
    side: "South",
    gates: ["North"],
  });
  for (const { id } of fields) await sendField(service, "PATCH", `/${id}`, { archived: true });
  expect(problems).toEqual([]);
});

test("a field that is renamed keeps the choices that others added meanwhile", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const { id } = await sendField(service, "POST", "", {
    key: "roof",
    label: "Roof",
    type: "select",
    options: ["Slate", "Tile"],
  });
  await openPage("/settings/lead-fields");
  await page.getByRole("button", { name: "Edit Roof" }).click();
  const dialog = page.getByRole("dialog", { name: "Edit Roof" });
  await dialog.getByLabel("Label").fill("Roofing");
  await sendField(service, "PATCH", `/${id}`, { options: ["Slate", "Tile", "Thatch"] });
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Edit Roofing" }).click();
  const choices = page.getByRole("dialog", { name: "Edit Roofing" }).getByLabel("Choices");
  await expect(choices).toHaveValue("Slate\nTile\nThatch");
  await sendField(service, "PATCH", `/${id}`, { archived: true });
  expect(problems).toEqual([]);
});

test("an item that is moved there and back at once is stored where it was", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const fields: { readonly id: number }[] = [];
  for (const key of ["first_sorted", "second_sorted"])
    fields.push(await sendField(service, "POST", "", { key, label: key, type: "text" }));
  await openPage("/settings/lead-fields");
  for (const [label, path] of [
    ["Custom fields", "**/custom-fields/*"],
    ["Priorities", "**/picklists/priority/options/*"],
  ] as const) {
    const list = page.getByRole("list", { name: label });
    const items = list.getByRole("listitem");
    await expect(items.nth(1)).toBeVisible();
    const before = await items.allInnerTexts();
    const release = await holdRequests(page, "PATCH", path);
    const last = items.last();
    await last.getByRole("button", { name: / up$/ }).click();
    await expect(items.nth(-2)).toHaveText(before.at(-1)!, { useInnerText: true });
    await items
      .nth(-2)
      .getByRole("button", { name: / down$/ })
      .click();
    release();
    await expect(list).toHaveAttribute("aria-busy", "false");
    await page.reload();
    await expect(items).toHaveText(before, { useInnerText: true });
  }
  for (const { id } of fields) await sendField(service, "PATCH", `/${id}`, { archived: true });
  expect(problems).toEqual([]);
});

test("a dialog with unsaved changes asks before Escape closes it; one without closes at once", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/settings/lead-fields");
  const option = page.getByRole("dialog", { name: "New option" });
  await page.getByRole("button", { name: "Add to Sources" }).click();
  await expect(option).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(option).toBeHidden();
  await page.getByRole("button", { name: "Add to Sources" }).click();
  await option.getByLabel("Label").fill("Trade fair");
  await page.keyboard.press("Escape");
  const question = page.getByRole("dialog", { name: "Discard your changes?" });
  await question.getByRole("button", { name: "Stay" }).click();
  await expect(question).toBeHidden();
  await expect(option.getByLabel("Label")).toHaveValue("Trade fair");
  await page.keyboard.press("Escape");
  await question.getByRole("button", { name: "Discard changes" }).click();
  await expect(option).toBeHidden();
  expect(problems).toEqual([]);
});

test("an option that is renamed keeps that it has no color, and a color can be given and taken away", async ({
  openPage,
  page,
  service,
}) => {
  await openPage("/settings/lead-fields");
  const sources = page.getByRole("list", { name: "Sources" });
  await sources.getByRole("button", { name: "Edit Referral" }).click();
  await page.getByLabel("Label").fill("Recommended");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(sources).toContainText("Recommended");
  expect(await colorOf(service, "Recommended")).toBeNull();
  const has_color = page.getByRole("checkbox", { name: "Shown in a color" });
  for (const [click, color] of [
    ["check", "#0f766e"],
    ["uncheck", null],
  ] as const) {
    await sources.getByRole("button", { name: "Edit Recommended" }).click();
    await has_color[click]();
    await page.getByRole("button", { name: "Save" }).click();
    await expect(has_color).toHaveCount(0);
    expect(await colorOf(service, "Recommended")).toBe(color);
  }
});

/** The color of a source. */
async function colorOf({ url, demo }: Service, wanted: string): Promise<string | null | undefined> {
  const answer = await fetch(`${url}/api/v1/crm/workspaces/1/picklists`, {
    headers: { authorization: `Bearer ${demo.tokens["account"]}` },
  });
  const { source } = (await answer.json()) as { source: { label: string; color: string | null }[] };
  return source.find(({ label }) => label === wanted)?.color;
}

test("a number field takes decimal numbers, blanks clear it, and other text is an error at the field", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const field = await sendField(service, "POST", "", {
    key: "floors",
    label: "Floors",
    type: "number",
  });
  const lead = await createLead(service, { name: "Tower", phone: "9876500553" });
  await openPage(`/leads/${lead}`);
  const floors = page.getByLabel("Floors");
  const read = async () => {
    const answer = await fetch(`${service.url}/api/v1/crm/workspaces/1/leads/${lead}`, {
      headers: { authorization: `Bearer ${service.demo.tokens["account"]}` },
    });
    if (!answer.ok) throw new Error(await answer.text());
    const { customFields } = (await answer.json()) as { customFields: Record<string, unknown> };
    return customFields["floors"] ?? null;
  };
  const enter = async (text: string) => {
    await floors.fill(text);
    await floors.press("Enter");
  };
  await enter(" -12.50 ");
  await expect.poll(read).toBe(-12.5);
  for (const text of ["Infinity", "0x1F", "1e3"]) {
    await enter(text);
    await expect(floors).toHaveAccessibleDescription("Floors must be a number.");
    expect(await read()).toBe(-12.5);
  }
  await enter("  ");
  await expect.poll(read).toBe(null);
  await sendField(service, "PATCH", `/${field.id}`, { archived: true });
  expect(problems).toEqual([]);
});

test("a day of which a part is missing is not saved and is said to be incomplete; a day that is cleared is", async ({
  openPage,
  page,
  problems,
  service,
  settled,
}) => {
  const field = await sendField(service, "POST", "", {
    key: "renewal",
    label: "Renewal",
    type: "date",
  });
  const lead = await createLead(service, {
    name: "Harbor",
    phone: "9876500554",
    customFields: { renewal: "2026-03-31" },
  });
  const sent: unknown[] = [];
  page.on("request", (request) => {
    if (request.method() === "PATCH") sent.push(request.postDataJSON().customFields.renewal);
  });
  await openPage(`/leads/${lead}?workspace=1`);
  const renewal = page.getByLabel("Renewal");
  const incomplete = "Renewal is incomplete: enter the day, the month and the year.";
  await expect(renewal).toHaveValue("2026-03-31");
  await renewal.press("Backspace");
  await renewal.press("Enter");
  await expect(renewal).toHaveAccessibleDescription(incomplete);
  await renewal.press("Escape");
  await expect(renewal).toHaveAccessibleDescription("");
  await expect(renewal).toHaveValue("2026-03-31");
  await renewal.press("Backspace");
  await renewal.blur();
  await expect(renewal).toHaveAccessibleDescription(incomplete);
  await settled();
  expect(sent).toEqual([]);

  await renewal.fill("");
  await renewal.blur();
  await expect(page.getByText("Saved", { exact: true }).first()).toBeVisible();
  await expect(renewal).toHaveAccessibleDescription("");
  await settled();
  expect(sent).toEqual([null]);
  await renewal.pressSequentially("0405");
  await renewal.blur();
  await expect(renewal).toHaveAccessibleDescription(incomplete);
  await renewal.press("Escape");
  await renewal.blur();
  await expect(renewal).toHaveAccessibleDescription("");
  await renewal.pressSequentially("04052027");
  await renewal.blur();
  await settled();
  await expect(renewal).toHaveAccessibleDescription("");
  expect(sent).toEqual([null, "2027-04-05"]);
  await sendField(service, "PATCH", `/${field.id}`, { archived: true });
  expect(problems).toEqual([]);
});
