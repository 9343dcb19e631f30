import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Page } from "@playwright/test";
import {
  createCampaign,
  createLead,
  createVoiceFile,
  expect,
  holdRequests,
  launchCalls,
  test,
  type Service,
} from "./console-fixture.ts";

test("settings of the account are changed by section, and a violation is at its field", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await openPage("/settings/account");
  const calls = page
    .locator("form")
    .filter({ has: page.getByRole("heading", { name: "Calls", exact: true }) });
  await calls.getByLabel("Call until").fill("25:00");
  await calls.getByRole("button", { name: "Save" }).click();
  await expect(calls.getByLabel("Call until")).toBeFocused();
  await calls.getByLabel("Call until").fill("24:00");
  await calls.getByLabel("Calls to one customer in 24 hours").fill("90");
  await calls.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved", { exact: true })).toBeVisible();
  const messages = page
    .locator("form")
    .filter({ has: page.getByRole("heading", { name: "Messages" }) });
  await messages.getByLabel("Stop words").fill("basta\nya no");
  await page.getByRole("link", { name: "Users", exact: true }).click();
  const question = page.getByRole("dialog", { name: "Discard your changes?" });
  await question.getByRole("button", { name: "Stay" }).click();
  await expect(messages.getByLabel("Stop words")).toHaveValue("basta\nya no");
  await messages.getByRole("button", { name: "Save" }).click();
  const read = async () => {
    const answer = await fetch(`${service.url}/api/v1/account`, {
      headers: { authorization: `Bearer ${service.demo.tokens["account"]}` },
    });
    return (await answer.json()) as unknown;
  };
  await expect.poll(read).toMatchObject({
    calls: { calls_per_customer_day: 90 },
    chat: { stop_words: ["basta", "ya no"] },
  });
  await page.reload();
  await expect(messages.getByLabel("Stop words")).toHaveValue("basta\nya no");
  // Other tests call the same people.
  await calls.getByLabel("Calls to one customer in 24 hours").fill("");
  await calls.getByRole("button", { name: "Save" }).click();
  await expect.poll(read).toMatchObject({ calls: { calls_per_customer_day: null } });
  await page.goto(`${service.url}/settings/audit`);
  await expect(page.getByRole("table", { name: "Audit trail" })).toContainText("Account updated");
  // The filter offers every action, also one that no loaded entry has.
  await page.getByLabel("Action").selectOption("Trunk deleted");
  await expect(page.getByText("Nothing matches")).toBeVisible();
  await page.getByLabel("Action").selectOption("Account updated");
  await expect(page.getByRole("table", { name: "Audit trail" })).toContainText("Account updated");
  expect(problems).toEqual([]);
});

test("a saved setting keeps what somebody else has changed in its section, also when it is saved again", async ({
  openPage,
  page,
  service,
  settled,
}) => {
  const account = async (method: "GET" | "PATCH", json?: object) => {
    const answer = await fetch(`${service.url}/api/v1/account`, {
      method,
      headers: {
        authorization: `Bearer ${service.demo.tokens["account"]}`,
        ...(json ? { "content-type": "application/json" } : {}),
      },
      ...(json ? { body: JSON.stringify(json) } : {}),
    });
    return (await answer.json()) as {
      calls: { calling_to: string; talk_minutes_max: number };
    };
  };
  const { calls: before } = await account("GET");
  const { calling_to, talk_minutes_max } = before;
  await openPage("/settings/account");
  const calls = sectionOf(page, "Calls");
  const longest = calls.getByLabel("Longest conversation in minutes");
  await expect(longest).toHaveValue(String(talk_minutes_max));
  await account("PATCH", { calls: { calling_to: "20:00" } });
  await longest.fill("44");
  await calls.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved", { exact: true })).toBeVisible();
  expect(await account("GET")).toMatchObject({
    calls: { calling_to: "20:00", talk_minutes_max: 44 },
  });
  await account("PATCH", { calls: { calling_to: "19:00" } });
  await calls.getByRole("button", { name: "Save" }).click();
  await settled();
  expect(await account("GET")).toMatchObject({ calls: { calling_to: "19:00" } });
  await account("PATCH", { calls: { calling_to, talk_minutes_max } });
});

test("what is typed while a section is saved is kept", async ({ openPage, page, service }) => {
  await openPage("/settings/account");
  const calls = sectionOf(page, "Calls");
  const longest = calls.getByLabel("Longest conversation in minutes");
  const before = await longest.inputValue();
  const release = await holdRequests(page, "PATCH", "**/api/v1/account");
  await longest.fill("43");
  await calls.getByRole("button", { name: "Save" }).click();
  await longest.fill(before);
  release();
  await expect(page.getByText("Saved", { exact: true })).toBeVisible();
  await expect(longest).toHaveValue(before);
  await calls.getByRole("button", { name: "Save" }).click();
  const { callSettings } = programOf(service);
  await expect.poll(callSettings).toMatchObject({ talk_minutes_max: Number(before) });
});

test("a next page that is refused is requested again only when somebody asks for it", async ({
  openPage,
  page,
}) => {
  let requests = 0;
  let isRefused = true;
  await page.route("**/api/v1/audit?*", async (route) => {
    if (new URL(route.request().url()).searchParams.has("cursor")) {
      requests += 1;
      return isRefused
        ? route.fulfill({ status: 403, json: { detail: "Not this page" } })
        : route.fulfill({ json: { data: [], next_cursor: null } });
    }
    const response = await route.fetch();
    // Few enough that the end is in view.
    const data = (await response.json()).data.slice(0, 5);
    return route.fulfill({ response, json: { data, next_cursor: "next" } });
  });
  await openPage("/settings/audit");
  const again = page.getByRole("button", { name: "Try again" });
  await expect(again).toBeVisible();
  await expect(page.getByRole("alert")).toHaveText("Not this page");
  await expect(page.getByRole("row")).not.toHaveCount(0);
  expect(requests).toBe(1);
  const answered = page.waitForResponse(/cursor=/);
  await again.click();
  await answered;
  await expect(again).toBeVisible();
  expect(requests).toBe(2);
  isRefused = false;
  await again.click();
  await expect(again).toBeHidden();
  await expect(page.getByRole("alert")).toBeHidden();
  expect(requests).toBe(3);
});

/** Requests of the API as the account's owner, and the command line. */
function programOf({ url, data_dir, demo }: Service) {
  const send = async (method: string, path: string, body?: BodyInit): Promise<unknown> => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${demo.tokens["account"]}` },
      ...(body === undefined ? {} : { body }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.status === 204 ? null : answer.json();
  };
  const run = promisify(execFile);
  return {
    callSettings: async () => ((await send("GET", "/account")) as { calls: unknown }).calls,
    archiveVoiceFile: (id: number) => send("DELETE", `/voice/files/${id}`),
    allowDestinations: (list: string) =>
      run(
        process.execPath,
        ["server/cli/main.ts", "account", "limits", "1", "--call-destinations", list],
        { env: { ...process.env, DATA_DIR: data_dir } },
      ),
  };
}

/** A section of the account's settings. */
const sectionOf = (page: Page, title: string) =>
  page.locator("form").filter({ has: page.getByRole("heading", { name: title, exact: true }) });

test("the audio that calls play is chosen by its name, and an archived file is named as such until it is replaced", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const { callSettings, archiveVoiceFile } = programOf(service);
  const press = await createVoiceFile(service, { name: "Press one" });
  const busy = await createVoiceFile(service, { name: "All busy" });
  await openPage("/settings/account");
  const audio = sectionOf(page, "Audio in calls");
  const accept_field = audio.getByLabel("Ask agents to press 1");
  const busy_field = audio.getByLabel("Busy message");
  const save = audio.getByRole("button", { name: "Save" });
  await accept_field.selectOption("Press one");
  await busy_field.selectOption("All busy");
  await save.click();
  await expect
    .poll(callSettings)
    .toMatchObject({ accept_voice_file_id: press, busy_voice_file_id: busy });
  await archiveVoiceFile(press);
  await page.reload();
  await expect(accept_field.locator("option:checked")).toHaveText("Press one (archived)");
  await expect(accept_field).toHaveAccessibleDescription(/This file is archived/);
  // The other field is changed all the same.
  await busy_field.selectOption("The built-in message");
  await save.click();
  await expect
    .poll(callSettings)
    .toMatchObject({ accept_voice_file_id: press, busy_voice_file_id: null });
  await archiveVoiceFile(busy);
  await accept_field.selectOption("All busy");
  await save.click();
  await expect(accept_field).toBeFocused();
  await expect(accept_field).toHaveAccessibleDescription(/has audio and is not archived/);
  await accept_field.selectOption("Do not ask");
  await save.click();
  await expect.poll(callSettings).toMatchObject({ accept_voice_file_id: null });
  await expect(accept_field.getByRole("option", { name: /Press one/ })).toHaveCount(0);
  expect(problems).toEqual([]);
});

test("the countries to call are chosen by name among those that the operator allows", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const { callSettings, allowDestinations } = programOf(service);
  await openPage("/settings/account");
  const countries = sectionOf(page, "Countries to call");
  const save = countries.getByRole("button", { name: "Save" });
  const country = (name: RegExp) => countries.getByRole("checkbox", { name });
  await expect(
    countries.getByRole("radio", { name: "All that the operator allows" }),
  ).toBeChecked();
  await countries.getByRole("radio", { name: "Only some of them" }).check();
  await save.click();
  await expect(countries.getByRole("alert")).toHaveText("Choose at least one country.");
  const search = countries.getByLabel("Find a country");
  await search.fill("emirates");
  await country(/^United Arab Emirates/).check();
  await search.fill("India");
  await search.press("Enter");
  await country(/^India$/).check();
  await expect(countries.getByRole("status")).toHaveText("Chosen: India, United Arab Emirates.");
  await expect(countries.getByRole("alert")).toHaveCount(0);
  expect(await callSettings()).toMatchObject({ destinations: null });
  await save.click();
  await expect.poll(callSettings).toMatchObject({ destinations: ["IN", "AE"] });
  await allowDestinations("IN");
  await page.reload();
  await expect(countries).toContainText("the operator no longer allows it");
  await save.click();
  await expect(countries.getByRole("alert")).toContainText("the operator allows");
  await expect(country(/^India$/)).toBeFocused();
  await country(/^United Arab Emirates/).uncheck();
  await save.click();
  await expect.poll(callSettings).toMatchObject({ destinations: ["IN"] });
  await countries.getByRole("radio", { name: "None" }).check();
  await save.click();
  await expect.poll(callSettings).toMatchObject({ destinations: [] });
  await allowDestinations("*");
  await countries.getByRole("radio", { name: "All that the operator allows" }).check();
  await save.click();
  await expect.poll(callSettings).toMatchObject({ destinations: null });
  expect(problems).toEqual([]);
});

test("the chat notification with a call is a template of the number that sends it, or none", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const { callSettings } = programOf(service);
  await openPage("/settings/account");
  const notice = sectionOf(page, "Chat notification with a call");
  const save = notice.getByRole("button", { name: "Save" });
  await expect(notice.getByLabel("Template")).toHaveCount(0);
  await notice.getByLabel("Send from").selectOption("1");
  await save.click();
  await expect(notice.getByLabel("Template")).toBeFocused();
  await expect(notice.getByLabel("Template")).toHaveAccessibleDescription(/Choose a template/);
  await notice.getByLabel("Template").selectOption("demo_greeting (en)");
  await save.click();
  await expect.poll(callSettings).toMatchObject({ notice: { chat_number_id: 1, template_id: 1 } });
  await page.reload();
  await expect(notice.getByLabel("Template").locator("option:checked")).toHaveText(
    "demo_greeting (en)",
  );
  await notice.getByLabel("Send from").selectOption("No message");
  await expect(notice.getByLabel("Template")).toHaveCount(0);
  await save.click();
  await expect.poll(callSettings).toMatchObject({ notice: null });
  expect(problems).toEqual([]);
});

test("the ledger shows what a campaign set aside and spent, and reports count what it sent and called", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createCampaign(service, "Counted", ["919876500251"]);
  await launchCalls(service, {
    campaign_name: "Counted calls",
    call_type: "obd_voice_call",
    number: "9876500252",
  });
  await openPage("/settings/credits");
  const ledger = page.getByRole("table", { name: "Movements of credit" });
  await expect(ledger).toContainText("Set aside");
  await page.getByLabel("Of", { exact: true }).selectOption("Calls");
  await page.getByLabel("What").selectOption("Set aside");
  await expect(ledger).toContainText("Calls");
  await page.goto(`${service.url}/reports`);
  const by_day = page.getByRole("table", { name: "By day" });
  await expect(by_day.getByRole("row")).not.toHaveCount(1);
  await page.getByLabel("By", { exact: true }).selectOption("By campaign");
  await expect(page.getByRole("table", { name: "By campaign" })).toContainText("Counted");
  await page.getByLabel("Report").selectOption("Calls");
  await expect(page.getByRole("table", { name: "By campaign" })).toContainText("Counted calls");
  await expect(page.getByText("Answered per call").first()).toBeVisible();
  await expect(page.getByText("A campaign's answer rate is per person")).toBeVisible();
  await page.reload();
  await expect(page.getByRole("table", { name: "By campaign" })).toContainText("Counted calls");
  await page.getByLabel("From").fill("2020-01-01");
  await page.getByLabel("Before").fill("2020-01-02");
  await expect(page.getByText("Nothing in this time")).toBeVisible();
  expect(problems).toEqual([]);
});

for (const { path, list, of } of [
  { path: "/suppressions", list: "**/api/v1/suppressions?*", of: "Suppressions" },
  { path: "/people/+919876543210", list: "**/timeline?*", of: "Timeline" },
])
  test(`the list ${of} keeps its rows when its next page is refused`, async ({
    openPage,
    page,
    service,
  }) => {
    await fetch(`${service.url}/api/v1/suppressions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${service.demo.tokens["account"]}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ phone_number: "919876543299", channel: "voice" }),
    });
    await createLead(service, { phone: "9876543210", name: "Ada Lovelace" });
    await page.route(list, async (route) => {
      if (new URL(route.request().url()).searchParams.has("cursor"))
        return route.fulfill({ status: 403, json: { detail: "Not this page" } });
      const response = await route.fetch();
      const { data } = await response.json();
      return route.fulfill({ response, json: { data: data.slice(0, 5), next_cursor: "next" } });
    });
    await openPage(path);
    const earlier = page.getByRole("button", { name: "Show earlier" });
    if (of === "Timeline") await earlier.click();
    await expect(page.getByRole("alert")).toHaveText("Not this page");
    const shown = of === "Timeline" ? page.getByRole("listitem") : page.getByRole("row");
    await expect(shown).not.toHaveCount(0);
  });
