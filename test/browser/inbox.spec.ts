import {
  createCampaign,
  createLead,
  expect,
  holdRequests,
  loseAnswer,
  test,
} from "./console-fixture.ts";
import { openDatabase } from "./open-database.ts";

test("a reply appears live, is answered, and who is angry is suppressed from there", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await openPage("/chat/replies");
  await expect(page.getByRole("heading", { name: "Replies" })).toBeVisible();
  // The sandbox answers "yes" for this number.
  await createCampaign(service, "Answered", ["919811777005"]);
  const people = page.getByRole("list", { name: "People who replied" });
  await people.getByRole("link", { name: "+919811777005" }).click();
  await expect(page.getByRole("heading", { name: "+919811777005" })).toBeFocused();
  await page.getByRole("button", { name: "Send answer" }).click();
  await expect(page.getByText("must not be empty")).toBeVisible();
  await expect(page.getByLabel("Answer")).toBeFocused();
  await page.getByLabel("Answer").fill("We will call you at 3 pm.");
  await page.getByRole("button", { name: "Send answer" }).click();
  const messages = page.getByRole("list", { name: "Messages" });
  const bubbles = messages.getByRole("listitem");
  // Each is a bubble of its own, in the order of time: what was sent, the reply to it, and the answer.
  await expect(bubbles.nth(0)).toHaveText(/^Campaign Answered.*(Sent|Delivered|Read)$/);
  await expect(bubbles.nth(1)).toHaveText(/^yes/i);
  // The provider's reports arrive while the page is open; this customer replies to the answer, too.
  await expect(bubbles.nth(2)).toHaveText(/^We will call you at 3 pm\..*Read$/);
  await expect(page.getByLabel("Answer")).toHaveValue("");
  await page.getByRole("link", { name: "Person" }).click();
  await page.getByRole("button", { name: "Suppress", exact: true }).click();
  await page.getByRole("button", { name: "Suppress number" }).click();
  await expect(page.getByRole("list", { name: "Suppressions in force" })).toBeVisible();
  expect(problems).toEqual([]);
});

test("the overview names who waits for an answer, and the conversation what was answered", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await openPage("/");
  await createLead(service, { name: "Asha Rao", phone: "9812777005" });
  await createCampaign(service, "Asked for an answer", ["919812777005"]);
  const item = page
    .getByRole("list", { name: "Needs attention" })
    .getByRole("listitem")
    .filter({ hasText: /waits? for an answer/ });
  await item.getByRole("link", { name: "Open" }).click();
  const row = page.getByRole("listitem").filter({ hasText: "Asha Rao +919812777005" });
  await expect(row).toContainText("left to answer");
  await row.getByRole("link").click();
  const message = page.getByRole("listitem").filter({ hasText: "Campaign Asked for an answer" });
  await expect(message).toContainText(/Hello/);
  expect(problems).toEqual([]);
});

test("a person whose only answer failed still waits for one", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await page.route("**/api/v1/chat/replies?*", async (route) => {
    const response = await route.fetch();
    const { data, ...rest } = await response.json();
    const sent_at = new Date().toISOString();
    const failed = {
      message_id: "m-1",
      text: "We call at five.",
      outcome: "failed",
      error: "undeliverable",
      status: "failed",
      status_at: sent_at,
      sent_by: null,
      sent_at,
    };
    const mine = data.filter(
      (reply: { phone_number: string }) => reply.phone_number === "919818777005",
    );
    const json = { ...rest, data: mine.map((reply: object) => ({ ...reply, answers: [failed] })) };
    await route.fulfill({ response, json });
  });
  await openPage("/");
  await createCampaign(service, "Answered in vain", ["919818777005"]);
  const attention = page.getByRole("list", { name: "Needs attention" });
  await expect(attention).toContainText("One person waits for an answer");
  await page.goto(`${service.url}/chat/replies`);
  const row = page.getByRole("listitem").filter({ hasText: "+919818777005" });
  await expect(row).toContainText("left to answer");
  await expect(row).not.toContainText("Answered");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  expect(problems).toEqual([]);
});

test("a customer without a phone number is read and answered like others", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await openPage("/chat/replies");
  await createCampaign(service, "To a user ID", ["IN.9819777005"]);
  const row = page.getByRole("listitem").filter({ hasText: "IN.9819777005" });
  await row.getByRole("link", { name: "WhatsApp user without a number" }).click();
  await expect(page.getByRole("heading", { name: "IN.9819777005" })).toBeFocused();
  const messages = page.getByRole("list", { name: "Messages" });
  await expect(messages.getByRole("listitem").first()).toHaveText(/^yes/i);
  await page.getByLabel("Answer").fill("We write to you at five.");
  await page.getByRole("button", { name: "Send answer" }).click();
  await expect(messages).toContainText(/We write to you at five\..*(Sent|Delivered|Read)/);
  await page.reload();
  await expect(messages).toContainText("We write to you at five.");
  expect(problems).toEqual([]);
});

test("an older message that arrives late neither closes the answer nor hides an opt-out", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await openPage("/chat/replies");
  await createCampaign(service, "Overtaken", ["919828777005"]);
  const row = page.getByRole("listitem").filter({ hasText: "+919828777005" });
  await expect(row).toContainText("left to answer");
  const db = await openDatabase(service);
  const { rowCount: late } = await db.query(`
    with stop as (
      update chat_replies set opted_out = true, text = 'STOP' where phone = '919828777005' returning *
    )
    insert into chat_replies (account_id, chat_number_id, phone, type, text, opted_out, provider_message_id, received_at)
    select account_id, chat_number_id, phone, type, 'Hello from yesterday', false, 'wamid.late.919828777005',
      received_at - interval '25 hours'
    from stop`);
  await db.end();
  expect(late).toBe(1);
  await page.reload();
  await expect(row).toContainText("Opted out");
  await expect(row).toContainText("STOP");
  await row.getByRole("link").click();
  const messages = page.getByRole("list", { name: "Messages" });
  await expect(messages).toContainText("Hello from yesterday");
  await expect(page.getByText("This person opted out with their last message.")).toBeVisible();
  await expect(page.getByLabel("Answer")).toBeVisible();
  expect(problems).toEqual([]);
});

test("after the 24 hours for an answer, a conversation offers a template to its person", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createLead(service, { name: "Ida Rhodes", phone: "9815777005" });
  await createCampaign(service, "Answered too late", ["919815777005"]);
  await page.route("**/api/v1/chat/replies?*", async (route) => {
    const response = await route.fetch();
    const { data, ...rest } = await response.json();
    const received_at = new Date(Date.now() - 25 * 3_600_000).toISOString();
    const late = data.map((reply: object) => ({ ...reply, received_at }));
    await route.fulfill({ response, json: { ...rest, data: late } });
  });
  await openPage("/chat/replies/+919815777005");
  await page.getByRole("link", { name: "Send a template" }).click();
  await expect(page.getByLabel("Numbers")).toHaveValue("+919815777005,Ida Rhodes");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  expect(problems).toEqual([]);
});

test("many numbers are suppressed at once, found by a filter and lifted with a reason", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/suppressions");
  await page.getByRole("button", { name: "Suppress numbers" }).click();
  await page.getByRole("textbox", { name: "Numbers" }).fill("12");
  await page.getByRole("button", { name: "Suppress", exact: true }).click();
  await expect(page.getByRole("textbox", { name: "Numbers" })).toBeFocused();
  await page.getByRole("textbox", { name: "Numbers" }).fill("9876500031\n9876500032\n12");
  await page.getByRole("button", { name: "Suppress", exact: true }).click();
  await expect(page.getByText("2 numbers are suppressed.")).toBeVisible();
  await expect(page.getByRole("list", { name: "Rejected rows" })).toContainText(
    "12: The number must be a phone number",
  );
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByLabel("Source").selectOption({ label: "Imported" });
  await expect(page).toHaveURL(/source=import/);
  await page.getByRole("button", { name: "Lift the suppression of +919876500031" }).click();
  await page.getByLabel("Reason").fill("Asked for messages again");
  await page.getByRole("button", { name: "Lift suppression" }).click();
  await expect(page.getByRole("link", { name: "+919876500031" })).toBeHidden();
  await expect(page.getByRole("link", { name: "+919876500032" })).toBeVisible();
  expect(problems).toEqual([]);
});

test("a file of numbers to suppress offers its columns, and can be removed again", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/suppressions");
  await page.getByRole("button", { name: "Suppress numbers" }).click();
  const file = {
    name: "angry.csv",
    mimeType: "text/csv",
    buffer: Buffer.from("Who,Mobile\nAda,9876500036\nBob,12\n"),
  };
  await page.getByLabel("Or a CSV file").setInputFiles(file);
  await expect(page.getByLabel("Column with the numbers")).toHaveValue("Mobile");
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(page.getByRole("textbox", { name: "Numbers" })).toBeVisible();
  await page.getByLabel("Or a CSV file").setInputFiles(file);
  await page.getByRole("button", { name: "Suppress", exact: true }).click();
  await expect(page.getByText("1 number is suppressed.")).toBeVisible();
  await expect(page.getByRole("list", { name: "Rejected rows" })).toContainText(
    "Row 3: Mobile must be a phone number",
  );
  expect(problems).toEqual([]);
});

test("an answer that is begun while another one is sent stays in the field", async ({
  openPage,
  page,
  service,
}) => {
  await openPage("/chat/replies");
  await createCampaign(service, "Answered twice", ["919814777005"]);
  const people = page.getByRole("list", { name: "People who replied" });
  await people.getByRole("link", { name: "+919814777005" }).click();
  const release = await holdRequests(page, "POST", "**/answers");
  const answer = page.getByLabel("Answer");
  await answer.fill("first");
  await page.getByRole("button", { name: "Send answer" }).click();
  await answer.fill("next");
  release();
  await expect(page.getByRole("list", { name: "Messages" })).toContainText("first");
  await expect(page.getByRole("button", { name: "Send answer" })).not.toHaveAttribute(
    "aria-busy",
    "true",
  );
  await expect(answer).toHaveValue("next");
  // Hebrew and Arabic read from right to left.
  await answer.fill("שלום");
  await expect(answer).toHaveCSS("direction", "rtl");
  await page.getByRole("button", { name: "Send answer" }).click();
  await expect(page.getByText("שלום").last()).toHaveCSS("direction", "rtl");
});

test("an answer stays in the field while the server cannot be reached, and is sent once", async ({
  openPage,
  page,
  service,
}) => {
  await openPage("/chat/replies");
  await createCampaign(service, "Answered in an outage", ["919816777005"]);
  const people = page.getByRole("list", { name: "People who replied" });
  await people.getByRole("link", { name: "+919816777005" }).click();
  const answer = page.getByLabel("Answer");
  await answer.fill("We call at five.");
  await loseAnswer(page, "**/answers");
  await page.route("**/api/v1/chat/replies?*", (route) => route.abort());
  await page.getByRole("button", { name: "Send answer" }).click();
  await expect(page.getByRole("alert").first()).toContainText("The server cannot be reached");
  await expect(answer).toHaveValue("We call at five.");
  await page.unroute("**/api/v1/chat/replies?*");
  await page.getByRole("button", { name: "Send answer" }).click();
  await expect(answer).toHaveValue("");
  const messages = page.getByRole("list", { name: "Messages" });
  await expect(messages.getByText("We call at five.")).toHaveCount(1);
});

test("a person who opted out is answered unless the answer is refused, and the refusal is shown", async ({
  openPage,
  page,
  service,
}) => {
  await openPage("/chat/replies");
  const id = await createCampaign(service, "Opted out", ["919821777005"]);
  const people = page.getByRole("list", { name: "People who replied" });
  await people.getByRole("link", { name: "+919821777005" }).click();
  await page.goto(`${service.url}/chat/campaigns/${id}`);
  const phone = page.getByRole("region", { name: "Sandbox phone" });
  await phone.getByLabel("Answer as this customer").fill("STOP");
  await phone.getByRole("button", { name: "Send" }).click();
  await expect(phone.getByText("STOP", { exact: true })).toBeVisible();
  await page.goto(`${service.url}/chat/replies/+919821777005`);
  await expect(page.getByText("This person opted out with their last message.")).toBeVisible();
  const answer = page.getByLabel("Answer");
  await answer.fill("We will not write again.");
  await page.getByRole("button", { name: "Send answer" }).click();
  await expect(page.getByRole("alert").first()).toContainText("suppressed after they last wrote");
  await expect(answer).toHaveValue("We will not write again.");
  await page.goto(`${service.url}/people/+919821777005`);
  const suppressions = page.getByRole("list", { name: "Suppressions in force" });
  await suppressions.getByRole("button", { name: "Lift" }).click();
  await expect(suppressions).toHaveCount(0);
  await page.goto(`${service.url}/chat/replies/+919821777005`);
  await page.getByLabel("Answer").fill("You asked us to write again.");
  await page.getByRole("button", { name: "Send answer" }).click();
  const messages = page.getByRole("list", { name: "Messages" });
  await expect(messages).toContainText(/You asked us to write again\..*(Sent|Delivered|Read)/);
});

test("a list filtered by opt-outs does not present an earlier message as one that can be answered", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const headers = {
    authorization: `Bearer ${service.demo.tokens["account"]}`,
    "content-type": "application/json",
  };
  // The sandbox answers "yes" for this number.
  const id = await createCampaign(service, "Yes, then stop", ["919831777005"]);
  await openPage("/chat/replies");
  const row = page
    .getByRole("list", { name: "People who replied" })
    .getByRole("listitem")
    .filter({ hasText: "+919831777005" });
  await expect(row).toContainText(/left to answer/);
  const path = `${service.url}/api/v1/chat/campaigns/${id}/recipients`;
  const recipients = await fetch(path, { headers });
  expect(recipients.ok).toBe(true);
  const [recipient] = ((await recipients.json()) as { data: { id: number }[] }).data;
  const stopped = await fetch(`${path}/${recipient!.id}/simulated-replies`, {
    method: "POST",
    headers,
    body: JSON.stringify({ text: "STOP" }),
  });
  expect(stopped.ok, await stopped.text()).toBe(true);
  await expect(row).toContainText("STOP");
  await page.getByLabel("Opt-outs").selectOption("Without opt-outs");
  await expect(row).toContainText(/yes/i);
  await expect(row).not.toContainText("left to answer");
  await expect(page.getByText("They may have opted out since.")).toBeVisible();
  await page.getByLabel("Opt-outs").selectOption("Opt-outs only");
  await expect(row).toContainText("STOP");
  await expect(page.getByText("The last opt-out of each person")).toBeVisible();
  expect(problems).toEqual([]);
});
