// What is shown stays true: after a restart of the service, and in many tabs.
import { setTimeout as wait } from "node:timers/promises";
import type { Page } from "@playwright/test";
import {
  createCampaign,
  createLead,
  expect,
  follow,
  holdRequests,
  launchCalls,
  signInByLink,
  test,
} from "./console-fixture.ts";

test("after a restart of the service a page shows what happens without being loaded again", async ({
  openPage,
  page,
  service,
}) => {
  await openPage("/leads?q=Rudolph");
  await expect(page.getByText("No lead matches these filters")).toBeVisible();
  await service.restart();
  await createLead(service, { phone: "9876500211", name: "Wilma Rudolph" });
  await expect(page.getByRole("row", { name: /Wilma Rudolph/ })).toBeVisible({
    timeout: 30_000,
  });
});

test("what happens while the stream is refused appears once it is open", async ({
  openPage,
  page,
  service,
}) => {
  let refused = 0;
  await page.route("**/api/v1/events*", (route) => {
    refused++;
    return route.fulfill({ status: 503 });
  });
  await openPage("/leads?q=Coachman");
  await expect(page.getByText("No lead matches these filters")).toBeVisible();
  await expect.poll(() => refused).toBeGreaterThan(0);
  await createLead(service, { phone: "9876500212", name: "Alice Coachman" });
  await page.unroute("**/api/v1/events*");
  await expect(page.getByRole("row", { name: /Alice Coachman/ })).toBeVisible();
});

test("while the service does not answer, a page keeps what it shows and asks only who is signed in", async ({
  openPage,
  page,
  service,
  settled,
}) => {
  await createLead(service, { phone: "9876500213", name: "Wilma Rudolph" });
  // The first stream gets no answer until the service answers nothing else.
  const stopped = Promise.withResolvers<void>();
  await page.route("**/api/v1/events*", async (route) => {
    await stopped.promise;
    await route.fulfill({ status: 503 });
  });
  await openPage("/leads");
  const table = page.getByRole("table", { name: "Leads" });
  await expect(table).toBeVisible();
  await settled();
  const asked: string[] = [];
  await page.route("**/api/v1/**", (route) => {
    asked.push(new URL(route.request().url()).pathname);
    return route.fulfill({ status: 502 });
  });
  stopped.resolve();
  const asksForStream = (path: string) => path === "/api/v1/events";
  await expect
    .poll(() => asked.filter(asksForStream).length, { timeout: 60_000 })
    .toBeGreaterThan(2);
  expect(new Set(asked)).toEqual(new Set(["/api/v1/events", "/api/v1/me"]));
  await expect(table).toBeVisible();
});

test("a tab that stays at the end of its session keeps no stream from another tab that signs in", async ({
  context,
  openPage,
  page,
  service,
}) => {
  const id = await createLead(service, { phone: "9876500037", name: "Stella Walsh" });
  await openPage(`/leads/${id}?workspace=1`);
  await page.getByLabel("Note", { exact: true }).fill("Not saved yet");
  await context.clearCookies();
  await service.restart();
  const question = page.getByRole("dialog", { name: "Discard your changes?" });
  await question.getByRole("button", { name: "Stay" }).click({ timeout: 30_000 });
  const other = await context.newPage();
  await signInByLink(other, service, service.demo.tokens["account"]!);
  await other.goto(`${service.url}/leads?q=Blankers`);
  await expect(other.getByText("No lead matches these filters")).toBeVisible();
  await createLead(service, { phone: "9876500038", name: "Fanny Blankers" });
  await expect(other.getByRole("row", { name: /Fanny Blankers/ })).toBeVisible();
});

test("after another user signs in elsewhere, a tab that stays shows that user none of its events, and ends its stream", async ({
  context,
  openPage,
  page,
  service,
}) => {
  const headers = {
    authorization: `Bearer ${service.demo.tokens["other_account"]}`,
    "content-type": "application/json",
  };
  const send = async (path: string, json?: object) => {
    const body = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
    return (await fetch(`${service.url}/api/v1/${path}`, { headers, ...body })).json();
  };
  const workspace = (await send("crm/workspaces")).data[0].id;
  const { path } = await send(`users/${(await send("me")).user.id}/sign-in-link`, {});
  const id = await createLead(service, { phone: "9876500141", name: "Betty Robinson" });
  await openPage(`/leads/${id}?workspace=1`);
  // A key press, without which the browser does not ask about unsaved changes.
  await page.getByLabel("Note", { exact: true }).press("x");
  const release = await holdRequests(page, "GET", "**/api/v1/me");
  const other = await context.newPage();
  await other.goto(service.url + path);
  await other.getByRole("button", { name: "Sign in" }).click();
  await other.getByRole("button", { name: "Oscar Other" }).waitFor();
  await follow(other, "/developers/events");
  const events = other.getByRole("list", { name: "Events" });
  await expect(other.getByText("Waiting for events")).toBeVisible();

  // Its stream was opened by the first user, and lasts while it checks who is signed in. The other user has no such lead.
  await page.route(`**/leads/${id}*`, (route) => route.abort());
  const read = page.waitForRequest(`**/leads/${id}*`);
  await fetch(`${service.url}/api/v1/crm/workspaces/1/leads/${id}`, {
    method: "PATCH",
    headers: { ...headers, authorization: `Bearer ${service.demo.tokens["account"]}` },
    body: JSON.stringify({ name: "Elizabeth Robinson" }),
  });
  await read;
  const asked = page.waitForEvent("dialog");
  release();
  await (await asked).dismiss();
  await expect(async () => {
    await send(`crm/workspaces/${workspace}/leads/create`, { phone: "9876500142", name: "Helen" });
    await expect(events.getByText("lead.created").first()).toBeVisible({ timeout: 2_000 });
  }).toPass({ timeout: 30_000 });
  await expect(events.getByText("lead.updated")).toHaveCount(0);

  const waiting = () =>
    page.evaluate(async () => {
      document.dispatchEvent(new Event("visibilitychange"));
      return (await navigator.locks.query()).pending!.length;
    });
  expect(await waiting()).toBe(0);
  await other.close();
  await page.getByRole("link", { name: "Leads", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard changes" }).click();
  await expect(page.getByRole("button", { name: "Oscar Other" })).toBeVisible();
  await expect(page.getByRole("row", { name: /Helen/ }).first()).toBeVisible();
  await send(`crm/workspaces/${workspace}/leads/create`, { phone: "9876500143", name: "Tidye" });
  await expect(page.getByRole("row", { name: /Tidye/ })).toBeVisible();
});

test("while the stream is refused for good, the dialer still sees the end of a call", async ({
  openPage,
  page,
}) => {
  await page.route("**/api/v1/events*", (route) =>
    route.fulfill({ status: 429, headers: { "retry-after": "5" } }),
  );
  await openPage("/calls/new?to=9876500033");
  const call = page.getByRole("button", { name: "Call", exact: true });
  await page.getByLabel("Your extension or phone number").fill("101");
  await call.click();
  await expect(page.getByText("You can place the next call")).toBeVisible();
  await expect(call).toBeVisible();
  await expect(page.getByText("Completed", { exact: true })).toBeVisible();
});

test("when the service skips events, all tabs read what they show again", async ({
  context,
  openPage,
  page,
  service,
}) => {
  const skipped = Promise.withResolvers<void>();
  let streams = 0;
  await context.route("**/api/v1/events*", async (route) => {
    // The stream that follows has no events.
    if (streams++ > 0) return;
    await skipped.promise;
    const data = JSON.stringify({ reason: "behind", from: 12_000, to: 25_000 });
    await route.fulfill({
      contentType: "text/event-stream",
      body: `retry: 3000\nid: 12000\n\nid: 25000\nevent: resync\ndata: ${data}\n\n`,
    });
  });
  await openPage("/leads?q=Didrikson");
  await expect(page.getByText("No lead matches these filters")).toBeVisible();
  const other = await context.newPage();
  await other.goto(`${service.url}/leads?q=Didrikson`);
  await expect(other.getByText("No lead matches these filters")).toBeVisible();
  await expect.poll(() => streams).toBeGreaterThan(0);
  await createLead(service, { phone: "9876500034", name: "Babe Didrikson" });
  skipped.resolve();
  await expect(page.getByRole("row", { name: /Babe Didrikson/ })).toBeVisible();
  await expect(other.getByRole("row", { name: /Babe Didrikson/ })).toBeVisible();
});

test("a campaign that another program creates appears in the list while one looks at it", async ({
  openPage,
  page,
  service,
}) => {
  await openPage("/chat/campaigns");
  await expect(page.getByRole("heading", { name: "Chat campaigns" })).toBeFocused();
  await createCampaign(service, "From elsewhere", ["919812345090"]);
  await expect(page.getByRole("link", { name: "From elsewhere" })).toBeVisible();
});

test("a campaign's page reads its recipients, failures and pace again for its own progress only", async ({
  context,
  openPage,
  page,
  service,
}) => {
  const headers = {
    authorization: `Bearer ${service.demo.tokens["account"]}`,
    "content-type": "application/json",
  };
  const read = async (path: string) =>
    (await fetch(`${service.url}/api/v1/${path}`, { headers })).json();
  const post = async (path: string, json: object = {}) => {
    const answer = await fetch(`${service.url}/api/v1/${path}`, {
      method: "POST",
      headers: { ...headers, "idempotency-key": crypto.randomUUID() },
      body: JSON.stringify(json),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  };
  const { id: chat } = await post("chat/campaigns", {
    name: "Messages that wait",
    chat_number_id: 1,
    template_id: 1,
    contacts: [{ phone_number: "919876500144" }],
    scheduled_at: "2099-01-31T09:30:00+05:30",
  });
  const voice = await launchCalls(service, {
    campaign_name: "Calls that wait",
    call_type: "obd_voice_call",
    number: "9876500145",
    schedulled_at: "2099-01-31T09:30:00+05:30",
  });
  const paths = [`chat/campaigns/${chat}`, `voice/campaigns/${voice}`];
  // It streams for all: a new stream begins with the progress of every campaign.
  await openPage("/chat/campaigns");
  await expect(page.getByRole("link", { name: "Messages that wait" })).toBeVisible();
  const shown = await Promise.all(paths.map(() => context.newPage()));
  for (const [at, tab] of shown.entries()) {
    await tab.goto(`${service.url}/${paths[at]}`);
    await expect(tab.getByRole("table", { name: "Recipients" })).toBeVisible();
    await tab.waitForLoadState("networkidle");
  }
  let reads = 0;
  context.on("request", (request) => {
    if (/\/(recipients|failures|pace)(\?|$)/.test(request.url())) reads++;
  });
  const sent = await createCampaign(service, "Messages of others", ["919876500146"]);
  const placed = await launchCalls(service, {
    campaign_name: "Calls of others",
    call_type: "obd_voice_call",
    number: "9876500147",
  });
  const states = async () => [
    (await read(`chat/campaigns/${sent}/recipients`)).data[0].state,
    (await read(`voice/campaigns/${placed}`)).status,
  ];
  await expect.poll(states).toEqual(["read", "completed"]);
  const progress = page.getByRole("row", { name: /Messages of others/ });
  await expect(progress).toContainText("Completed");
  expect(reads).toBe(0);
  for (const path of paths) await post(`${path}/cancel`);
  for (const tab of shown)
    await expect(tab.getByRole("table", { name: "Recipients" })).toContainText("Cancelled");
});

test("a lead's page reads it again for its own events only, and out of view not before it is shown again", async ({
  context,
  openPage,
  page,
  service,
}) => {
  const shown = await createLead(service, { phone: "9876500035", name: "Fanny Shown" });
  const changed = await createLead(service, { phone: "9876500216", name: "Fanny Changed" });
  const rename = (id: number, name: string) =>
    fetch(`${service.url}/api/v1/crm/workspaces/1/leads/${id}`, {
      method: "PATCH",
      headers: {
        authorization: `Bearer ${service.demo.tokens["account"]}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ name }),
    });
  const setHidden = (isHidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
  await openPage(`/leads/${shown}`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Fanny Shown");
  const list = await context.newPage();
  await list.goto(`${service.url}/leads?q=Fanny`);
  await expect(list.getByRole("row", { name: /Fanny Shown/ })).toBeVisible();
  let reads = 0;
  page.on("request", (request) => {
    if (new URL(request.url()).pathname.endsWith(`/leads/${shown}`)) reads++;
  });
  for (let time = 1; time <= 20; time++) await rename(changed, `Fanny Changed ${time}`);
  await expect(list.getByRole("row", { name: /Fanny Changed 20/ })).toBeVisible();
  await rename(shown, "Fanny Renamed");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Fanny Renamed");
  expect(reads).toBe(1);
  await setHidden(true);
  await rename(shown, "Fanny Hidden");
  await expect(list.getByRole("row", { name: /Fanny Hidden/ })).toBeVisible();
  expect(reads).toBe(1);
  await setHidden(false);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Fanny Hidden");
  expect(reads).toBe(2);
});

test("twelve tabs all load and stay live, because one streams for all", async ({
  context,
  openPage,
  page,
  service,
}) => {
  await openPage("/leads");
  for (let tab = 2; tab <= 12; tab++) {
    const other = await context.newPage();
    await other.bringToFront();
    await other.goto(`${service.url}/chat/campaigns`);
    await expect(other.getByRole("heading", { name: "Chat campaigns" })).toBeVisible();
    await expect(other.getByRole("table", { name: "Chat campaigns" })).toBeVisible();
  }
  await createLead(service, { phone: "9876500041", name: "Melba Mouton" });
  await expect(page.getByRole("row", { name: /Melba Mouton/ })).toBeVisible();
  await page.close();
  await createCampaign(service, "Seen in the last tab", ["919812345091"]);
  const last = context.pages().at(-1)!;
  await expect(last.getByRole("link", { name: "Seen in the last tab" })).toBeVisible();
});

test("a list shows what is new and its next page while events are steady and each page takes a second", async ({
  openPage,
  page,
  service,
}) => {
  let created = 0;
  const create = (name: string) =>
    createLead(service, { phone: String(9_876_520_000 + created++), name });
  // More than the 50 of a page.
  await Promise.all(Array.from({ length: 60 }, () => create("Steady lead")));
  await page.route("**/workspaces/1/leads?*", async (route) => {
    await wait(1_000);
    await route.continue();
  });
  await openPage("/leads?q=Steady");
  await expect(page.getByRole("row", { name: /Steady lead/ }).first()).toBeVisible();
  const newcomers = page.getByRole("row", { name: /Steady newcomer/ });
  await expect
    .poll(
      async () => {
        await create("Steady newcomer");
        return newcomers.count();
      },
      { intervals: [100] },
    )
    .toBeGreaterThan(0);
  await expect
    .poll(
      async () => {
        await create("Steady newcomer");
        await page.keyboard.press("End");
        return page
          .getByRole("row")
          .evaluateAll((rows) => Math.max(...rows.map((row) => Number(row.ariaRowIndex ?? 0))));
      },
      { intervals: [100] },
    )
    .toBeGreaterThan(51);
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

/** Streams one event over and over, instead of what the service streams. */
const streamOnly = (page: Page, type: string, data: () => object) =>
  page.route("**/api/v1/events*", (route) => {
    const event = { type, timestamp: new Date().toISOString(), data: data() };
    return route.fulfill({
      contentType: "text/event-stream",
      body: `retry: 500\nevent: ${type}\ndata: ${JSON.stringify(event)}\n\n`,
    });
  });

test("the answer rate and the calls of a voice campaign follow its progress, in the list and on its page", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const id = await launchCalls(service, {
    campaign_name: "Rates",
    call_type: "obd_voice_call",
    number: "9876500251",
    schedulled_at: "2099-01-31T09:30:00+05:30",
  });
  const nothing = { synthesizing: 0, waiting: 60, calling: 0, machine: 0, busy: 0, failed: 0 };
  const rest = { suppressed: 0, skipped: 0, cancelled: 0 };
  const counts = { ...nothing, ...rest, answered: 30, no_answer: 10 };
  await streamOnly(page, "voice.campaign.progress", () => ({
    campaign_id: id,
    status: "running",
    counts,
  }));
  /** What the campaign's record has of an earlier moment, and once it is read again. */
  const earlier = { answered: 10, no_answer: 0, called: 10, attempts: 10 };
  const later = { answered: 30, no_answer: 10, called: 40, attempts: 45 };
  /** Returns what lets it be read again. */
  const stub = async (path: string) => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let reads = 0;
    await page.route(path, async (route) => {
      const isFirst = reads++ === 0;
      if (!isFirst) await released;
      const response = await route.fetch();
      const answer = await response.json();
      const shown = { total: 100, status: "running", ...(isFirst ? earlier : later) };
      const change = <Row extends { campaign_id: number }>(row: Row) =>
        row.campaign_id === id ? { ...row, ...shown } : row;
      const json = "data" in answer ? { ...answer, data: answer.data.map(change) } : change(answer);
      await route.fulfill({ response, json });
    });
    return release;
  };
  const releaseList = await stub("**/api/v1/voice/campaigns?*");
  const releasePage = await stub(`**/api/v1/voice/campaigns/${id}`);
  await openPage("/voice/campaigns");
  // Its name, state, progress, answered, answer rate and calls.
  const cells = page.getByRole("row", { name: /Rates/ }).getByRole("cell");
  await expect(cells.nth(2)).toHaveText("30");
  await expect(cells.nth(3)).toHaveText("75%");
  await expect(cells.nth(4)).toHaveText("40");
  releaseList();
  await expect(cells.nth(4)).toHaveText("45");
  await page.getByRole("link", { name: "Rates" }).click();
  await expect(page.getByText("30 of 40 people called; calls placed: 40")).toBeVisible();
  await expect(page.getByText("Of the 40 people called.")).toBeVisible();
  releasePage();
  await expect(page.getByText("30 of 40 people called; calls placed: 45")).toBeVisible();
  expect(problems).toEqual([]);
});

test("the credits of a chat campaign follow its progress, also while its events are steady", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const id = await createCampaign(service, "Credits in view", ["919876500252"]);
  const none = { queued: 0, deferred: 0, dispatching: 0, unknown: 0, sent: 0, read: 0 };
  const counts = { ...none, accepted: 700, delivered: 0, failed: 0, skipped: 0, cancelled: 0 };
  await streamOnly(page, "chat.campaign.progress", () => ({
    campaign_id: id,
    status: "running",
    counts,
  }));
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let reads = 0;
  await page.route(`**/api/v1/chat/campaigns/${id}`, async (route) => {
    const isFirst = reads++ === 0;
    if (!isFirst) await released;
    const response = await route.fetch();
    const credits = isFirst
      ? { reserved: 1_000, captured: 0, refunded: 0 }
      : { reserved: 300, captured: 700, refunded: 12 };
    const json = { ...(await response.json()), status: "running", total_contacts: 1_000, credits };
    await route.fulfill({ response, json });
  });
  await openPage(`/chat/campaigns/${id}`);
  await expect(page.getByText("0 refunded", { exact: true })).toBeVisible();
  // The event is shown before the campaign is read again.
  await expect(page.getByRole("region", { name: "Outcome" })).toContainText("700");
  release();
  await expect(page.getByText("12 refunded", { exact: true })).toBeVisible();
  await expect(page.getByText("688", { exact: true })).toBeVisible();
  expect(problems).toEqual([]);
});
