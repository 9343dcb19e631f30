import { createCampaign, expect, test, type Service } from "./console-fixture.ts";
import { openDatabase } from "./open-database.ts";

/** Creates a template or a campaign of the demo's account; returns its ID. */
async function send(
  { url, demo }: Service,
  path: string,
  body: { readonly name: string; readonly [field: string]: unknown },
) {
  const answer = await fetch(`${url}/api/v1/chat/${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${demo.tokens["account"]}`,
      "content-type": "application/json",
      "idempotency-key": `${path} ${body.name}`,
    },
    body: JSON.stringify(body),
  });
  expect(answer.status, await answer.clone().text()).toBe(201);
  return ((await answer.json()) as { id: number }).id;
}

test("a campaign completes in view, and three clicks on its page suppress a customer it could not reach", async ({
  openPage,
  page,
  service,
}) => {
  await openPage("/chat/campaigns");
  const phones = Array.from({ length: 200 }, (_, at) => String(919_800_000_000 + at));
  await createCampaign(service, "Watched", [...phones, "919876777001"]);
  await page.getByRole("link", { name: "Campaigns", exact: true }).click();
  await page.reload();
  await page.getByRole("link", { name: "Watched" }).click();
  await expect(page.getByRole("heading", { name: "Watched", level: 1 })).toBeFocused();
  await expect(page.getByText("201 of 201")).toBeVisible();
  await expect(page.getByRole("region", { name: "Messages a minute" })).toBeVisible();
  await page.getByRole("link", { name: "Not reachable on WhatsApp" }).click();
  await expect(page).toHaveURL(/state=failed&error=undeliverable/);
  await page.getByRole("button", { name: "Suppress +919876777001" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Suppress", exact: true }).click();
  await expect(page.getByText("+919876777001 is suppressed")).toBeVisible();
  await page.reload();
  await expect(page.getByRole("row", { name: /919876777001/ })).toContainText("Failed");
});

test("a paused campaign says who paused it, and continues when it is resumed", async ({
  openPage,
  page,
  service,
}) => {
  const phones = Array.from({ length: 4_000 }, (_, at) => String(919_700_000_000 + at));
  await createCampaign(service, "Long", phones);
  await openPage("/chat/campaigns?status=running");
  await page.getByRole("link", { name: "Long" }).click();
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(page.getByRole("region", { name: "Paused: Paused by a person" })).toBeVisible();
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByRole("button", { name: "Pause" })).toBeVisible();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel the campaign" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Cancelled");
});

test("a campaign that waits for the end of the quiet time can be paused by a person, too", async ({
  openPage,
  page,
  service,
}) => {
  const change = async (chat: object) => {
    const answer = await fetch(`${service.url}/api/v1/account`, {
      method: "PATCH",
      headers: {
        authorization: `Bearer ${service.demo.tokens["account"]}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ chat }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return ((await answer.json()) as { readonly time_zone: string }).time_zone;
  };
  const none = { quiet_from: null, quiet_to: null };
  const timeZone = await change(none);
  const time = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" });
  const hour_ms = 3_600_000;
  const [quiet_from, quiet_to] = [-hour_ms, hour_ms].map((ms) => time.format(Date.now() + ms));
  await change({ quiet_from, quiet_to });
  try {
    const id = await createCampaign(service, "Paused twice", ["919700900001"]);
    await openPage(`/chat/campaigns/${id}`);
    await expect(page.getByRole("heading", { level: 1 })).toContainText("Paused");
    await page.getByRole("button", { name: "Pause" }).click();
    await expect(page.getByRole("region", { name: "Paused: Paused by a person" })).toBeVisible();
    await expect(page.getByRole("button", { name: "Pause" })).toHaveCount(0);
    await expect(page.getByRole("button", { name: "Resume" })).toBeVisible();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Cancel the campaign" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText("Cancelled");
  } finally {
    await change(none);
  }
});

test("on the sandbox's phone a customer reads the message, and STOP takes the way of a webhook", async ({
  openPage,
  page,
  service,
}) => {
  const id = await createCampaign(service, "On a phone", ["919600000001"]);
  await openPage(`/chat/campaigns/${id}`);
  const phone = page.getByRole("region", { name: "Sandbox phone" });
  await expect(phone.getByText(/^Hello .*welcome!$/)).toBeVisible();
  await phone.getByLabel("Answer as this customer").fill("STOP");
  await phone.getByRole("button", { name: "Send" }).click();
  await expect(phone.getByText("STOP", { exact: true })).toBeVisible();
  // What comes after the campaign's end is shown too.
  const funnel = page.getByRole("region", { name: "Outcome" });
  await expect(funnel).toContainText(/Read1 100%Of the 1 message sent/);
  await expect(page.getByRole("row", { name: /919600000001/ })).toContainText("Read");
  await page.goto(`${service.url}/people/+919600000001`);
  await expect(page.getByText("Suppressed").first()).toBeVisible();
});

test("a button that is pressed on the sandbox's phone answers with its payload, which may opt out", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const components = [
    { type: "BODY", text: "Shall we write again?" },
    { type: "BUTTONS", buttons: [{ type: "QUICK_REPLY", text: "No, thanks" }] },
  ];
  const template_id = await send(service, "templates", {
    chat_number_id: 1,
    name: "opt_out_button",
    language: "en_US",
    category: "UTILITY",
    components,
    variable_defaults: { button_0: "STOP" },
  });
  const contacts = [{ phone_number: "919876511041" }];
  const id = await send(service, "campaigns", {
    name: "With an opt-out button",
    chat_number_id: 1,
    template_id,
    contacts,
  });
  await openPage(`/chat/campaigns/${id}`);
  const phone = page.getByRole("region", { name: "Sandbox phone" });
  await phone.getByRole("button", { name: "No, thanks" }).click();
  await expect(phone.getByText("No, thanks")).toHaveCount(2);
  await page.goto(`${service.url}/people/+919876511041`);
  await expect(page.getByText("Suppressed").first()).toBeVisible();
  expect(problems).toEqual([]);
});

test("a long table shows its first rows after what is above it has grown", async ({
  openPage,
  page,
  service,
}) => {
  const phones = Array.from({ length: 80 }, (_, at) => String(919819779000 + at));
  const id = await createCampaign(service, "A long list", phones);
  await openPage(`/chat/campaigns/${id}`);
  const table = page.getByRole("table", { name: "Recipients" });
  await expect(table.getByRole("row").nth(1)).toBeAttached();
  await page.evaluate(() => {
    const grown = document.createElement("div");
    grown.style.height = "3000px";
    document.querySelector("main")!.prepend(grown);
  });
  await table.evaluate((shown) => shown.scrollIntoView());
  await expect(table.locator("[aria-rowindex='2']")).toBeInViewport();
});

test("the pace of a campaign is unknown again after half a minute without an outcome", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const id = await createCampaign(service, "Paced", ["919866600101"]);
  const headers = { authorization: `Bearer ${service.demo.tokens["account"]}` };
  await expect
    .poll(async () => {
      const answer = await fetch(`${service.url}/api/v1/chat/campaigns/${id}`, { headers });
      return ((await answer.json()) as { status: string }).status;
    })
    .toBe("completed");
  // Statuses come after the end, too, and their events would replace the counts below.
  await page.route("**/api/v1/events*", () => {});
  let pending_count = 900;
  await page.route(`**/api/v1/chat/campaigns/${id}`, async (route) => {
    const response = await route.fetch();
    const json = {
      ...(await response.json()),
      status: "running",
      total_contacts: 1_000,
      pending_count,
    };
    await route.fulfill({ response, json });
  });
  await page.clock.install();
  await openPage(`/chat/campaigns/${id}`);
  await expect(page.getByText("Measuring…")).toBeVisible();
  await expect(async () => {
    pending_count -= 10;
    await page.clock.fastForward(6_000);
    // The campaign is read again when the tab is shown.
    await page.evaluate(() => window.dispatchEvent(new Event("visibilitychange")));
    await expect(page.getByText(/Done in about/)).toBeVisible({ timeout: 1_000 });
  }).toPass();
  // A count that was still being read begins another half minute.
  await expect(async () => {
    await page.clock.fastForward(31_000);
    await expect(page.getByText("Measuring…")).toBeVisible({ timeout: 1_000 });
  }).toPass();
  await expect(page.getByText(/Done in about/)).toHaveCount(0);
  expect(problems).toEqual([]);
});

test("a template that may not be sent is named with its status and what helps, on its campaign and on the overview", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const components = [{ type: "BODY", text: "Good morning" }];
  const ofTemplate = { name: "held_greeting", language: "en_US", category: "UTILITY", components };
  const template_id = await send(service, "templates", { chat_number_id: 1, ...ofTemplate });
  const db = await openDatabase(service);
  const { rowCount: held } = await db.query(
    `insert into chat_holds (account_id, scope, subject_id, reason, detail, set_at)
     select account_id, 'template', id, 'template_paused', 'is being reviewed', now() from chat_templates where id = $1`,
    [template_id],
  );
  expect(held).toBe(1);
  const contacts = [{ phone_number: "919876511031" }];
  const of = { name: "Held by its template", chat_number_id: 1, template_id, contacts };
  const id = await send(service, "campaigns", of);
  for (const [status, label, advice] of [
    ["DISABLED", "The template is disabled", "Submit another one"],
    ["REJECTED", "The template was rejected", "Submit a corrected one under another name"],
    ["PENDING", "The template is in review", "Sending continues when WhatsApp approves it"],
    ["PAUSED", "The template is paused", "Sending continues when WhatsApp approves it again"],
  ] as const) {
    await db.query("update chat_templates set status = $2 where id = $1", [template_id, status]);
    await openPage(`/chat/campaigns/${id}`);
    const notice = page.getByRole("region", { name: `Paused: ${label}` });
    await expect(notice).toContainText(advice);
    if (status !== "PAUSED") await expect(notice).not.toContainText("negative feedback");
    // The overview does not list the hold of a rejected template or of one in review.
    if (status !== "PAUSED" && status !== "DISABLED") continue;
    await page.goto(`${service.url}/`);
    const item = page
      .getByRole("list", { name: "Needs attention" })
      .getByRole("listitem")
      .filter({ hasText: `held_greeting: ${label}` });
    await expect(item).toContainText(advice);
  }
  await db.end();
  expect(problems).toEqual([]);
});
