import { execFileSync } from "node:child_process";
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

test("a filter by an archived status says so, as its leads keep the status", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const send = async (method: string, path: string, json: object) => {
    const answer = await fetch(
      `${service.url}/api/v1/crm/workspaces/1/picklists/status/options${path}`,
      {
        method,
        headers: {
          authorization: `Bearer ${service.demo.tokens["account"]}`,
          "content-type": "application/json",
        },
        body: JSON.stringify(json),
      },
    );
    if (!answer.ok) throw new Error(await answer.text());
    return (await answer.json()) as { readonly id: number };
  };
  const { id } = await send("POST", "", { label: "Parked" });
  await createLead(service, { phone: "9876500084", name: "Lynn Conway", statusId: id });
  await createLead(service, { phone: "9876500085", name: "Sophie Wilson" });
  await send("PATCH", `/${id}`, { archived: true });
  await openPage(`/leads?status=${id}`);
  const leads = page.getByRole("table", { name: "Leads" }).getByRole("row");
  await expect(leads).toHaveCount(2);
  const status = page.getByRole("combobox", { name: "Status", exact: true });
  await expect(status.locator("option:checked")).toHaveText("Archived: Parked");
  await status.selectOption("Any status");
  await expect(page.getByRole("row", { name: /Sophie Wilson/ })).toBeVisible();
  await expect(status.getByText("Archived: Parked")).toHaveCount(0);
  expect(problems).toEqual([]);
});

test("a lead and a contact are found by a number with the country code", async ({
  openPage,
  page,
  service,
}) => {
  await createLead(service, { phone: "9876500086", name: "Carol Shaw" });
  await createLead(service, { phone: "9876500087", name: "Roberta Williams" });
  for (const [path, label] of [
    ["/leads", "Search leads"],
    ["/contacts", "Name, phone or email"],
  ] as const) {
    await openPage(path);
    await expect(page.getByRole("row", { name: /Roberta Williams/ })).toBeVisible();
    await page.getByRole("searchbox", { name: label }).fill("+91 98765 00086");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("row", { name: /Roberta Williams/ })).toHaveCount(0);
    await page.reload();
    await expect(page.getByRole("row", { name: /Carol Shaw/ })).toBeVisible();
  }
});

test("a search keeps the focus after Enter, and has the text that Back restores", async ({
  openPage,
  page,
}) => {
  await openPage("/leads");
  const search = page.getByRole("searchbox", { name: "Search leads" });
  await search.fill("Noether");
  await page.keyboard.press("Enter");
  await expect(page.getByText("No lead matches these filters")).toBeVisible();
  await expect(search).toBeFocused();
  await page.keyboard.type(" Emmy");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/q=Noether.+Emmy/);
  await expect(search).toBeFocused();
  await page.goBack();
  await expect(search).toHaveValue("Noether");
  await page.goBack();
  await expect(search).toHaveValue("");
});

test("leads that are ticked get a status and an agent at once, and a refused number is at its field", async ({
  openPage,
  page,
  service,
}) => {
  for (const [phone, name] of [
    ["9876500061", "Gladys West"],
    ["9876500062", "Mary Golda Ross"],
  ])
    await createLead(service, { phone, name });
  await openPage("/leads?q=987650006");
  await page
    .getByRole("row", { name: /Gladys West/ })
    .getByRole("checkbox")
    .check();
  await page
    .getByRole("row", { name: /Mary Golda Ross/ })
    .getByRole("checkbox")
    .check();
  await expect(page.getByText("2 selected")).toBeVisible();
  await page.getByRole("combobox", { name: "Change status" }).selectOption("Contacted");
  await page.getByRole("button", { name: "Apply to 2 leads" }).click();
  await expect(page.getByRole("row", { name: /Gladys West.*Contacted/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /Mary Golda Ross.*Contacted/ })).toBeVisible();
  await page.getByRole("button", { name: "New lead" }).click();
  await expect(page.getByLabel("Phone number")).toBeFocused();
  await page.getByLabel("Phone number").fill("098765 00061");
  await expect(page.getByLabel("Phone number")).toHaveAccessibleDescription(
    /Gladys West has this number already/,
  );
  await page.getByLabel("Phone number").fill("12");
  await page.getByRole("button", { name: "Create lead" }).click();
  await expect(page.getByLabel("Phone number")).toBeFocused();
  await expect(page.getByLabel("Phone number")).toHaveAttribute("aria-invalid", "true");
});

test("a form shows the curl command of its own request, which together with the form has one effect", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await openPage("/leads");
  await page.getByRole("button", { name: "New lead" }).click();
  await page.getByLabel("Phone number").fill("9876500233");
  await page.getByLabel("Name", { exact: true }).fill("Sinéad O'Connor");
  await page.getByRole("button", { name: "Show as curl" }).click();
  const command = await page
    .getByRole("region", { name: "As a curl command" })
    .getByText("curl --request POST")
    .innerText();
  const env = { ...process.env, TRUNKLINE_TOKEN: service.demo.tokens["account"] };
  const lead = JSON.parse(
    execFileSync("sh", ["-c", command], { encoding: "utf8", env, stdio: "pipe" }),
  );
  expect(lead.name).toBe("Sinéad O'Connor");
  await page.getByRole("button", { name: "Create lead" }).click();
  await expect(page).toHaveURL(new RegExp(`/leads/${lead.id}\\b`));
  expect(problems).toEqual([]);
});

test("ticked leads are changed by the button only, to active agents only, and not when another filter hides them", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createLead(service, { phone: "9876500063", name: "Thelma Estrin" });
  const writes: string[] = [];
  page.on("request", (request) => request.method() === "PATCH" && writes.push(request.url()));
  await page.route("**/crm/workspaces/1/agents?*", async (route) => {
    const response = await route.fetch();
    const page_of = await response.json();
    const one = { ...page_of.data[0], id: 999_999, name: "Former agent", active: false };
    await route.fulfill({ response, json: { ...page_of, data: [...page_of.data, one] } });
  });
  await openPage("/leads?q=9876500063");
  const tick = page.getByRole("row", { name: /Thelma Estrin/ }).getByRole("checkbox");
  await tick.check();
  const apply = page.getByRole("button", { name: "Apply to 1 lead" });
  await expect(apply).toBeDisabled();
  const status = page.getByRole("combobox", { name: "Change status" });
  await status.focus();
  await page.keyboard.press("ArrowDown");
  await expect(status).not.toHaveValue("");
  await expect(apply).toBeEnabled();
  expect(writes).toEqual([]);
  // Filters show who was active once.
  const assigned = page.getByRole("combobox", { name: "Assigned to" });
  await expect(assigned.getByRole("option", { name: "Former agent" })).toHaveCount(1);
  const assign = page.getByRole("combobox", { name: "Assign to", exact: true });
  await expect(assign.getByRole("option", { name: "Former agent" })).toHaveCount(0);
  await page.getByRole("combobox", { name: "Status", exact: true }).selectOption("Contacted");
  await expect(page.getByText("No lead matches these filters")).toBeVisible();
  await expect(page.getByText("1 selected")).toHaveCount(0);
  await page.goBack();
  await expect(tick).not.toBeChecked();
  expect(problems).toEqual([]);
});

test("ticked leads lose their agent by the button only, together with the other choices", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const headers = { authorization: `Bearer ${service.demo.tokens["account"]}` };
  const answer = await fetch(`${service.url}/api/v1/crm/workspaces/1/agents`, { headers });
  const { data } = (await answer.json()) as { data: { id: number; active: boolean }[] };
  const assignedAgentId = data.find(({ active }) => active)!.id;
  await createLead(service, { phone: "9876500552", name: "Ida Rhodes", assignedAgentId });
  const patches: object[] = [];
  page.on("request", (request) => {
    if (request.method() === "PATCH") patches.push(request.postDataJSON());
  });
  await openPage("/leads?q=9876500552");
  const row = page.getByRole("row", { name: /Ida Rhodes/ });
  await row.getByRole("checkbox").check();
  const status = page.getByRole("combobox", { name: "Change status" });
  await status.selectOption("Contacted");
  const assign = page.getByRole("combobox", { name: "Assign to", exact: true });
  await assign.selectOption("No agent");
  await expect(assign).toHaveValue("none");
  expect(patches).toEqual([]);
  const statusId = Number(await status.inputValue());
  await page.getByRole("button", { name: "Apply to 1 lead" }).click();
  await expect(page.getByText("1 lead changed")).toBeVisible();
  expect(patches).toEqual([{ statusId, assignedAgentId: null, ids: [expect.any(Number)] }]);
  await expect(row).toContainText("Contacted");
  expect(problems).toEqual([]);
});

test("a ticked lead that somebody else moves out of the list is not changed", async ({
  openPage,
  page,
  service,
}) => {
  const stays = await createLead(service, { phone: "9876500231", name: "Annie Scott" });
  const moves = await createLead(service, { phone: "9876500232", name: "Annie Jump" });
  const changed: number[][] = [];
  page.on("request", (request) => {
    if (request.method() === "PATCH") changed.push(request.postDataJSON().ids);
  });
  await openPage("/leads?q=Annie");
  for (const name of [/Annie Scott/, /Annie Jump/])
    await page.getByRole("row", { name }).getByRole("checkbox").check();
  await expect(page.getByText("2 selected")).toBeVisible();
  const renamed = await fetch(`${service.url}/api/v1/crm/workspaces/1/leads/${moves}`, {
    method: "PATCH",
    headers: {
      authorization: `Bearer ${service.demo.tokens["account"]}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ name: "Cannon" }),
  });
  expect(renamed.status).toBe(200);
  await expect(page.getByRole("row", { name: /Annie Jump/ })).toHaveCount(0);
  await expect(page.getByText("1 selected")).toBeVisible();
  await page.getByRole("combobox", { name: "Change status" }).selectOption("Contacted");
  await page.getByRole("button", { name: "Apply to 1 lead" }).click();
  await expect(page.getByRole("row", { name: /Annie Scott.*Contacted/ })).toBeVisible();
  expect(changed).toEqual([[stays]]);
});
