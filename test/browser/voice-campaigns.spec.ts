import { readFile } from "node:fs/promises";
import { expect, follow, launchCalls, openAway, signInByLink, test } from "./console-fixture.ts";

test("a menu campaign is composed, checked by a dry run, called and watched until its keys are counted", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/voice/campaigns");
  await page.getByRole("link", { name: "New voice campaign" }).first().click();
  await expect(page.getByRole("heading", { name: "New voice campaign" })).toBeFocused();
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  await expect(page.getByLabel("Campaign name")).toBeFocused();
  await page.getByLabel("Campaign name").fill("Delivery day");
  await page.getByRole("radio", { name: "Menu" }).check();
  await page.getByLabel("Content").selectOption("Demo message");
  const list = "name,phone\nAda,9876777701\nBob,9876777486\nNo,12\nAda,9876777701\nEve,9876777404";
  await page.getByLabel("Numbers").fill(list);
  await expect(page.getByRole("complementary", { name: "Preview" })).toContainText("Hello Ada!");
  await page.reload();
  await expect(page.getByLabel("Campaign name")).toHaveValue("Delivery day");
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  const dry_run = page.getByRole("region", { name: "Dry run" });
  await expect(dry_run).toContainText("Not a phone number: 1");
  await expect(dry_run).toContainText("3 in Asia/Kolkata");
  await expect(dry_run).toContainText("More than once in the list: 1");
  await expect(dry_run).toContainText(/On the list5.*Will be reached3/);
  await dry_run.getByRole("button", { name: "Show as curl" }).click();
  await expect(dry_run).toContainText("--form 'file=@\"recipients.csv\"'");
  await dry_run.getByRole("button", { name: "Call 3 people" }).click();
  await expect(page.getByRole("heading", { name: "Delivery day", level: 1 })).toBeFocused();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Completed");
  await expect(page.getByText("1 of 3 people called; calls placed: 3")).toBeVisible();
  await expect(page.getByRole("region", { name: "Outcome" })).toContainText("33.3%");
  // Its menu can transfer to agents.
  await expect(page.getByText("Abandoned")).toBeVisible();
  const not_reached = page.getByRole("region", { name: "Not reached" });
  await expect(not_reached.getByRole("link", { name: "Busy" })).toBeVisible();
  const keys = page.getByRole("region", { name: "Keys pressed" });
  await expect(keys).toContainText("Key 1");
  await not_reached.getByRole("link", { name: "The number does not exist" }).click();
  const recipients = page.getByRole("table", { name: "Recipients" });
  await expect(recipients).toContainText("+919876777404");
  await expect(recipients).not.toContainText("+919876777701");
  const exported = page.waitForEvent("download");
  await page.getByRole("link", { name: "Export" }).click();
  const file = await readFile(await (await exported).path(), "utf8");
  expect(file).toContain("9876777404");
  expect(file).not.toContain("9876777701");
  await not_reached.getByRole("button", { name: "Retry" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Retry" }).click();
  await expect(page.getByText("1 person is called again")).toBeVisible();
  await page.getByRole("link", { name: "Show calls" }).click();
  await expect(page.getByRole("button", { name: "Only “Delivery day” ×" })).toBeVisible();
  expect(problems).toEqual([]);
});

test("the keys of a running campaign are counted at most every thirty seconds, and once it has completed", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await page.clock.install();
  await openPage("/voice/campaigns");
  const id = await launchCalls(service, {
    campaign_name: "Keys to count",
    call_type: "obd_voice_call",
    number: "9878777486,9878777901,9878777603,9878777701,9878777480",
  });
  const path = `/api/v1/voice/campaigns/${id}/keys`;
  const isCount = (request: { url(): string }) => new URL(request.url()).pathname === path;
  let counts = 0;
  page.on("request", (request) => {
    if (isCount(request)) counts++;
  });
  const seconds = () => page.evaluate(() => Date.now() / 1_000);
  const opened = await seconds();
  await follow(page, `/voice/campaigns/${id}`);
  const recipients = page.getByRole("table", { name: "Recipients" });
  for (const [number, state] of [
    ["+919878777486", "Busy"],
    ["+919878777603", "Declined"],
    ["+919878777701", "Answered"],
  ] as const)
    await expect(recipients.getByRole("row", { name: number })).toContainText(state);
  expect(counts).toBeLessThanOrEqual(1 + ((await seconds()) - opened) / 30);
  await page.clock.fastForward(30_000);
  await expect.poll(() => counts).toBeGreaterThan(1);
  await expect(page.getByRole("region", { name: "Keys pressed" })).toContainText("Key 1");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Running");
  const headers = {
    authorization: `Bearer ${service.demo.tokens["account"]}`,
    "content-type": "application/json",
  };
  const calls = `${service.url}/api/v1/calls`;
  const listed = await fetch(`${calls}?campaign_id=${id}&status=ringing`, { headers });
  const [ringing] = (await listed.json()).data;
  const completed = page.waitForRequest(isCount, { timeout: 25_000 });
  const ended = await fetch(`${calls}/${ringing.call_id}/hangup`, {
    method: "POST",
    headers: { ...headers, "idempotency-key": crypto.randomUUID() },
    body: "{}",
  });
  if (!ended.ok) throw new Error(await ended.text());
  await completed;
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Completed");
  expect(problems).toEqual([]);
});

test("a large file is read by the columns that were chosen, whatever they are called", async ({
  openPage,
  page,
}) => {
  await openPage("/voice/campaigns/new");
  await page.getByLabel("Campaign name").fill("Guests");
  await page.getByRole("radio", { name: "Personal script" }).check();
  await page.getByLabel("Content").selectOption("Demo message");
  const csv =
    "\ufeffGuest;Where;Mobile\r\nZoë;Köln;9876777801\r\nJosé;;9876777802\r\nnobody;;none\r\n";
  await page.getByLabel("Or read a CSV file").setInputFiles({
    name: "guests.csv",
    mimeType: "text/csv",
    buffer: Buffer.from(csv, "utf16le"),
  });
  await expect(page.getByLabel("Phone column")).toHaveValue("2");
  await page.getByLabel("Variable {{city}}").selectOption("Where");
  await expect(page.getByRole("complementary", { name: "Preview" })).toContainText(
    "Hello Zoë! Greetings to Köln",
  );
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  const dry_run = page.getByRole("region", { name: "Dry run" });
  await expect(dry_run).toContainText("Not a phone number: 1");
  await dry_run.getByRole("button", { name: "Call 2 people" }).click();
  await expect(page.getByRole("heading", { name: "Guests", level: 1 })).toBeFocused();
  await expect(page.getByRole("table", { name: "Recipients" })).toContainText("+919876777801");
});

test("calls at night are warned of where people are, and wait for the day at a click", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/voice/campaigns/new");
  await page.getByLabel("Campaign name").fill("By day");
  await page.getByLabel("Content").selectOption("Demo message");
  await page.getByLabel("Numbers").fill("9876777801");
  // 00:55 in India; the account is in UTC and may call at any time.
  const at_night = `${new Date().getUTCFullYear() + 1}-03-01T19:25`;
  await page.getByLabel("Begin").fill(at_night);
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  const warning = page.getByRole("region", { name: "Calls at night" });
  await expect(warning).toContainText("1 person would be called at night");
  await expect(page.getByRole("button", { name: "Call 1 person at night" })).toBeVisible();
  await warning.getByRole("button", { name: /^Begin on .* there$/ }).click();
  await expect(page.getByRole("button", { name: "Call 1 person", exact: true })).toBeVisible();
  await expect(warning).toHaveCount(0);
  await page.getByRole("button", { name: "Change" }).click();
  await expect(page.getByLabel("Begin")).toHaveValue(/-03-02T03:30$/);
  expect(problems).toEqual([]);
});

test("a running campaign is paused, resumed and cancelled, and its content is tried by a test call", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const id = await launchCalls(service, {
    campaign_name: "Reminder",
    call_type: "obd_voice_call",
    number: "9876777480",
    max_retry: 1,
    retry_after: 30,
  });
  await openPage(`/voice/campaigns/${id}`);
  const heading = page.getByRole("heading", { level: 1 });
  await expect(heading).toContainText("Running");
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(heading).toContainText("Paused");
  await expect(page.getByRole("region", { name: "Paused: Paused by a person" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Pause" })).toHaveCount(0);
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(heading).toContainText("Running");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel the campaign" }).click();
  await expect(heading).toContainText("Cancelled");
  await page.goto(`${service.url}/voice/campaigns/new`);
  await page.getByLabel("Content").selectOption("Demo message");
  await page.getByLabel("Your phone").fill("12");
  await page.getByRole("button", { name: "Call my phone" }).click();
  await expect(page.getByLabel("Your phone")).toBeFocused();
  await page.getByLabel("Your phone").fill("9876777901");
  await page.getByRole("button", { name: "Call my phone" }).click();
  await page.getByRole("link", { name: "Look at it" }).click();
  await expect(heading).toContainText("Completed");
  expect(problems).toEqual([]);
});

test("a test call to a country that the account may not call is refused at the number, with the reason", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await openPage("/voice/campaigns/new");
  const allow = async (destinations: readonly string[] | null) => {
    const answer = await page.request.patch(`${service.url}/api/v1/account`, {
      headers: { authorization: `Bearer ${service.demo.tokens["account"]}` },
      data: { calls: { destinations } },
    });
    expect(answer.ok(), await answer.text()).toBe(true);
  };
  await page.getByLabel("Content").selectOption("Demo message");
  const phone = page.getByLabel("Your phone");
  await phone.fill("9877777901");
  await allow(["US"]);
  await page.getByRole("button", { name: "Call my phone" }).click();
  await expect(page.getByText("This account may not call numbers of IN")).toBeVisible();
  await allow(null);
  await expect(phone).toBeFocused();
  await expect(page.getByRole("link", { name: "Look at it" })).toHaveCount(0);
  expect(problems).toEqual([]);
});

test("people of an unknown place are callable from a time in the account's zone", async ({
  browser,
  service,
}) => {
  const page = await openAway(browser);
  await page.route("**/api/v1/voice/campaigns/preview", async (route) => {
    const response = await route.fetch();
    const preview = await response.json();
    const zones = [{ ...preview.zones[0], time_zones: [], callable_from: "2030-01-15T10:00:00Z" }];
    await route.fulfill({ response, json: { ...preview, zones } });
  });
  await signInByLink(page, service, service.demo.tokens["account"]!);
  await page.goto(`${service.url}/voice/campaigns/new`);
  await page.getByLabel("Campaign name").fill("Anywhere");
  await page.getByLabel("Content").selectOption("Demo message");
  await page.getByLabel("Numbers").fill("9876777801");
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  const places = page.getByRole("region", { name: "Where they are" });
  await expect(places).toContainText(/in an unknown place, from Tue 03:30\sPM/);
  await page.context().close();
});
