import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { createCampaign, expect, follow, launchCalls, test } from "./console-fixture.ts";

test("a paused campaign appears on the overview without a reload, and resumes from there", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await openPage("/");
  await expect(page.getByRole("heading", { name: "Overview" })).toBeFocused();
  // Below more links than a window is high.
  await expect(page.getByRole("button", { name: "Olivia Owner" })).toBeInViewport();
  await expect(page.getByText("This is a sandbox: nothing is really sent")).toBeVisible();
  const phones = Array.from({ length: 4_000 }, (_, at) => String(919_500_000_000 + at));
  const id = await createCampaign(service, "Interrupted", phones);
  await fetch(`${service.url}/api/v1/chat/campaigns/${id}/pause`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.demo.tokens["account"]}` },
  });
  const item = page
    .getByRole("list", { name: "Needs attention" })
    .getByRole("listitem")
    .filter({ hasText: "Interrupted: Paused by a person" });
  await expect(item).toBeVisible();
  await expect(page.getByRole("list", { name: "Newest WhatsApp campaigns" })).toContainText(
    "Interrupted",
  );
  await item.getByRole("button", { name: "Resume" }).click();
  await expect(item).toBeHidden();
  await page.getByRole("link", { name: "Interrupted" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel the campaign" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Cancelled");
  expect(problems).toEqual([]);
});

test("the overview no longer says that nothing is sent once a number of WhatsApp was added in the same tab", async ({
  openPage,
  page,
  problems,
}) => {
  let chat = ["sandbox"];
  // As the API answers an account with a number of WhatsApp.
  await page.route("**/api/v1/me", async (route) => {
    const response = await route.fetch();
    const me = await response.json();
    await route.fulfill({ response, json: { ...me, drivers: { ...me.drivers, chat } } });
  });
  await openPage("/");
  const note = page.getByText("This is a sandbox: nothing is really sent");
  await expect(note).toBeVisible();
  await follow(page, "/chat/numbers");
  chat = ["sandbox", "whatsapp"];
  await page.getByRole("button", { name: "Add a sandbox number" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Second sender");
  await dialog.getByLabel("Phone number").fill("+919000000061");
  await dialog.getByRole("button", { name: "Add the number" }).click();
  await expect(dialog).toBeHidden();
  await follow(page, "/");
  await expect(page.getByRole("heading", { name: "Overview" })).toBeFocused();
  await expect(note).toBeHidden();

  await follow(page, "/chat/numbers");
  chat = ["sandbox"];
  await page.getByRole("button", { name: "Delete Second sender" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(dialog).toBeHidden();
  await follow(page, "/");
  await expect(note).toBeVisible();
  expect(problems).toEqual([]);
});

test("a hold whose cause was resolved is lifted from the overview, and the campaign is completed", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  // The sandbox restricts the sending number.
  const id = await createCampaign(service, "Held back", ["919500777006"]);
  await openPage("/");
  const item = page
    .getByRole("list", { name: "Needs attention" })
    .getByRole("listitem")
    .filter({ hasText: "The sending number is restricted" });
  await item.getByRole("button", { name: "It is resolved" }).click();
  await page.getByRole("button", { name: "Continue sending" }).click();
  await expect(item).toBeHidden();
  await page.goto(`${service.url}/chat/campaigns/${id}`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Completed");
  await expect(page.getByText("This account is frozen.")).toBeHidden();
  // As the API answers while the account moves to another installation.
  await page.route("**/api/v1/me", async (route) => {
    const response = await route.fetch();
    const me = await response.json();
    await route.fulfill({ response, json: { ...me, account: { ...me.account, frozen: true } } });
  });
  await page.reload();
  await expect(page.getByText("This account is frozen.")).toBeVisible();
  expect(problems).toEqual([]);
});

test("a voice campaign whose trunk cannot be used is on the overview, with what helps and a link to it", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const setTrunk = (active: boolean) =>
    fetch(`${service.url}/api/v1/trunks/1`, {
      method: "PATCH",
      headers: {
        authorization: `Bearer ${service.demo.tokens["account"]}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ active }),
    });
  await launchCalls(service, {
    campaign_name: "Stranded",
    call_type: "obd_voice_call",
    number: "9876543210",
    schedulled_at: "2099-01-31T09:30:00+05:30",
  });
  await openPage("/");
  await setTrunk(false);
  const item = page
    .getByRole("list", { name: "Needs attention" })
    .getByRole("listitem")
    .filter({ hasText: "Stranded: The trunk cannot be used" });
  await expect(item).toContainText("Resume to continue over another trunk");
  await setTrunk(true);
  await item.getByRole("link", { name: "Open" }).click();
  await expect(page.getByRole("heading", { name: "Stranded", level: 1 })).toBeVisible();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel the campaign" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Cancelled");
  expect(problems).toEqual([]);
});

test("who waits for an answer is counted until another program answers, and until the 24 hours are over", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const headers = {
    authorization: `Bearer ${service.demo.tokens["account"]}`,
    "content-type": "application/json",
  };
  const api = `${service.url}/api/v1/chat`;
  const read = async (path: string) => (await (await fetch(api + path, { headers })).json()).data;
  const post = (path: string, text: string) =>
    fetch(api + path, { method: "POST", headers, body: JSON.stringify({ text }) });
  const people = ["919816000001", "919816000002"];
  // Others wait in the replies of other tests.
  await page.route("**/api/v1/chat/replies?*", async (route) => {
    const response = await route.fetch();
    const { data, ...rest } = await response.json();
    const theirs = (reply: { phone_number: string }) => people.includes(reply.phone_number);
    await route.fulfill({ response, json: { ...rest, data: data.filter(theirs) } });
  });
  const id = await createCampaign(service, "Two who write", people);
  const recipients = `/campaigns/${id}/recipients`;
  await expect.poll(() => read(`${recipients}?state=read`)).toHaveLength(2);
  await page.clock.install();
  await openPage("/");
  for (const recipient of await read(recipients))
    await post(`${recipients}/${recipient.id}/simulated-replies`, "When do you open?");
  const list = page.getByRole("list", { name: "Needs attention" });
  await expect(list).toContainText("2 people wait for an answer");
  const [reply] = await read("/replies?phone_number=919816000001");
  await post(`/replies/${reply.id}/answers`, "At nine.");
  await expect(list).toContainText("One person waits for an answer");
  await page.clock.fastForward("24:00:00");
  await expect(list.getByText("One person waits for an answer")).toBeHidden();
  await page.unrouteAll({ behavior: "ignoreErrors" });
  expect(problems).toEqual([]);
});

test("the overview does not state that nothing waits while only a part of the replies of the day is read", async ({
  openPage,
  page,
  service,
}) => {
  const headers = {
    authorization: `Bearer ${service.demo.tokens["account"]}`,
    "content-type": "application/json",
  };
  const api = `${service.url}/api/v1/chat`;
  const id = await createCampaign(service, "One who writes", ["919816000003"]);
  const recipients = `${api}/campaigns/${id}/recipients`;
  const read = async (url: string) => (await (await fetch(url, { headers })).json()).data;
  await expect.poll(() => read(`${recipients}?state=read`)).toHaveLength(1);
  const [recipient] = await read(recipients);
  await fetch(`${recipients}/${recipient.id}/simulated-replies`, {
    method: "POST",
    headers,
    body: JSON.stringify({ text: "When do you open?" }),
  });
  await expect.poll(() => read(`${api}/replies?phone_number=919816000003`)).toHaveLength(1);
  let answered = true;
  await page.route("**/api/v1/chat/replies?*", async (route) => {
    const response = await route.fetch();
    const { data } = await response.json();
    const reply = { ...data[0], opted_out: answered, answers: [] };
    await route.fulfill({ response, json: { data: [reply], next_cursor: "further" } });
  });
  await openPage("/");
  const list = page.getByRole("list", { name: "Needs attention" });
  await expect(list).toContainText("People may wait for an answer");
  answered = false;
  await page.reload();
  await expect(list).toContainText("At least one person waits for an answer");
});

test("an endpoint that answered 410 is named as gone on the overview, which leads to it", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  let status = 410;
  const receiver = createServer((_request, response) => response.writeHead(status).end());
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/gone`;
  const send = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${service.url}/api/v1/callbacks/endpoints${path}`, {
      method,
      headers: {
        authorization: `Bearer ${service.demo.tokens["account"]}`,
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return answer;
  };
  const { id } = (await (await send("POST", "", { url })).json()) as { readonly id: number };
  await send("POST", `/${id}/test`, {});
  const item = page
    .getByRole("list", { name: "Needs attention" })
    .getByRole("listitem")
    .filter({ hasText: url });
  await openPage("/");
  await expect(async () => {
    await page.reload();
    await expect(item).toContainText("It answered 410 Gone", { timeout: 3_000 });
  }).toPass();
  await expect(item).toContainText("someone must enable it again");
  await item.getByRole("link", { name: "Open" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Disabled: it answered 410");
  status = 200;
  await page.getByRole("button", { name: "Enable" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Active");
  await send("DELETE", `/${id}`);
  receiver.close();
  await once(receiver, "close");
  expect(problems).toEqual([]);
});
