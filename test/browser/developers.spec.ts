import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { createLead, expect, loseAnswer, test } from "./console-fixture.ts";

test("a token is created for one purpose, works, is rotated, and is refused once it is revoked", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const statusOf = async (token: string) =>
    (await fetch(`${service.url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } }))
      .status;
  await openPage("/developers/tokens");
  await page.getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Web form");
  await dialog.getByLabel("Create leads", { exact: true }).check();
  await dialog.getByLabel("Expires").fill("2020-01-01T09:00");
  await dialog.getByRole("button", { name: "Create token" }).click();
  await expect(dialog.getByLabel("Expires")).toBeFocused();
  await dialog.getByLabel("Expires").fill("2099-01-01T09:00");
  await dialog.getByRole("button", { name: "Create token" }).click();
  const token = await dialog.getByRole("textbox", { name: "Token" }).inputValue();
  expect(await statusOf(token)).toBe(200);
  await dialog.getByRole("button", { name: "Done" }).click();
  const row = page.getByRole("row", { name: "Web form" });
  await expect(row).toContainText("crm.leads.create");

  await page.getByRole("button", { name: "Rotate Web form" }).click();
  await dialog.getByLabel("The old token ends").selectOption("At once");
  await dialog.getByRole("button", { name: "Rotate" }).click();
  const rotated = await dialog.getByRole("textbox", { name: "Token" }).inputValue();
  expect(await statusOf(rotated)).toBe(200);
  expect(await statusOf(token)).toBe(401);
  await dialog.getByRole("button", { name: "Done" }).click();

  await page.getByRole("button", { name: "Revoke Web form" }).last().click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect(row.last()).toContainText("Revoked");
  expect(await statusOf(rotated)).toBe(401);
  expect(problems).toEqual([]);
});

test("a token can be given to a user beyond the first page of users", async ({
  openPage,
  page,
}) => {
  await page.route("**/api/v1/users?*", async (route) => {
    const second = new URL(route.request().url()).searchParams.get("cursor") === "second";
    const response = await route.fetch({ url: route.request().url().replace("cursor=second", "") });
    const [user] = (await response.json()).data;
    const last = { ...user, id: 999_999, name: "Last of many", active: true, is_owner: false };
    await route.fulfill({
      response,
      json: second ? { data: [last], next_cursor: null } : { data: [user], next_cursor: "second" },
    });
  });
  await openPage("/developers/tokens");
  await page.getByRole("button", { name: "New token" }).click();
  const user = page.getByRole("dialog").getByRole("option", { name: "Last of many" });
  await expect(user).toHaveCount(1);
});

test("an endpoint that fails shows what was sent and why, is sent again, and replays what it missed", async ({
  openPage,
  page,
  problems,
}) => {
  const url = `http://127.0.0.1:${await closedPort()}/events`;
  await openPage("/developers/callbacks");
  await page.getByRole("button", { name: "New endpoint" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("URL").fill("ftp://example.com");
  await dialog.getByRole("button", { name: "Create endpoint" }).click();
  await expect(dialog.getByLabel("URL")).toBeFocused();
  await dialog.getByLabel("URL").fill(url);
  await dialog.getByRole("button", { name: "Create endpoint" }).click();
  await expect(dialog.getByLabel("Secret")).toHaveValue(/^whsec_/);
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("link", { name: url }).click();
  await page.getByRole("button", { name: "Send a test" }).click();
  const deliveries = page.getByRole("table", { name: "Deliveries" });
  await deliveries.getByRole("button", { name: "callback.test" }).click();
  await expect(dialog.getByRole("group", { name: "What was sent" })).toContainText(
    '"type": "callback.test"',
  );
  await dialog.getByRole("button", { name: "Send again" }).click();
  await dialog.getByRole("button", { name: "Close" }).click();

  await page.getByRole("button", { name: "Replay events" }).click();
  await dialog.getByLabel("From").fill("2020-01-01T00:00");
  await dialog.getByRole("button", { name: "Replay" }).click();
  const replays = page.getByRole("region", { name: "Replays" });
  await expect(replays.getByRole("listitem")).toContainText("sent again");
  await page.getByRole("button", { name: "Show" }).click();
  await expect(page.getByRole("textbox", { name: "Secret" })).toHaveValue(/^whsec_/);
  await page.getByRole("button", { name: "Disable" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Disabled");
  await page.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("heading", { name: "Callbacks" })).toBeFocused();
  await expect(page.getByRole("link", { name: url })).toHaveCount(0);
  expect(problems).toEqual([]);
});

test("events appear as they happen, until they are paused", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await openPage("/developers/events");
  await expect(page.getByText("Waiting for events")).toBeVisible();
  await createLead(service, { phone: "9876500071", name: "Mary Jackson" });
  const events = page.getByRole("list", { name: "Events" });
  await events.getByText("lead.created").first().click();
  await expect(events.getByRole("group", { name: "lead.created" }).first()).toContainText(
    "9876500071",
  );
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByLabel("Event", { exact: true }).selectOption("credit.low");
  await expect(page.getByText("Paused", { exact: true })).toBeVisible();
  expect(problems).toEqual([]);
});

test("an endpoint whose answer is lost is created once, however often the button is pressed", async ({
  openPage,
  page,
}) => {
  const url = `http://127.0.0.1:${await closedPort()}/once`;
  await loseAnswer(page, "**/api/v1/callbacks/endpoints");
  await openPage("/developers/callbacks");
  await page.getByRole("button", { name: "New endpoint" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("URL").fill(url);
  await dialog.getByRole("button", { name: "Create endpoint" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await dialog.getByRole("button", { name: "Create endpoint" }).click();
  // Its secret is on its page.
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole("link", { name: url })).toHaveCount(1);
});

test("a delivery stays open while newer ones push its row away, and its button has the focus again", async ({
  openPage,
  page,
}) => {
  await openPage("/developers/callbacks");
  await page.getByRole("button", { name: "New endpoint" }).first().click();
  const dialog = page.getByRole("dialog");
  const url = `http://127.0.0.1:${await closedPort()}/busy`;
  await dialog.getByLabel("URL").fill(url);
  await dialog.getByRole("button", { name: "Create endpoint" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.getByRole("link", { name: url }).click();
  await page.getByRole("button", { name: "Send a test" }).click();
  const row = page
    .getByRole("table", { name: "Deliveries" })
    .getByRole("button", { name: "callback.test" });
  await row.click();
  await dialog.getByRole("button", { name: "Close" }).click();
  await expect(row).toBeFocused();
  await row.click();
  await expect(dialog.getByRole("group", { name: "What was sent" })).toBeVisible();
  await page.route("**/api/v1/callbacks/deliveries?*", async (route) => {
    const response = await route.fetch();
    const { data, next_cursor } = await response.json();
    const newer = Array.from({ length: 200 }, (_, at) => ({
      ...data[0],
      id: 1_000_000 - at,
      type: "lead.created",
    }));
    await route.fulfill({ response, json: { data: [...newer, ...data], next_cursor } });
  });
  await expect(page.locator("tr[data-index='0']")).toContainText("lead.created");
  await expect(dialog.getByRole("group", { name: "What was sent" })).toBeVisible();
});

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
