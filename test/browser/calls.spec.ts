import { expect, launchCalls, test, type Service } from "./console-fixture.ts";
import { openDatabase } from "./open-database.ts";

test("a campaign's call is found by its number, and shows how it ended, who was connected and which keys were pressed", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const id = await launchCalls(service, {
    campaign_name: "Found again",
    call_type: "obd_ivr",
    number: "9811777701,9811777486",
  });
  await openPage(`/voice/campaigns/${id}`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Completed");
  await page.getByRole("link", { name: "Show calls" }).click();
  const calls = page.getByRole("table", { name: "Calls" });
  await expect(calls.getByRole("row")).toHaveCount(3);
  await page.getByLabel("State").selectOption("Busy");
  await expect(calls).toContainText("The customer was busy");
  await expect(calls).not.toContainText("9811777701");
  await page.getByLabel("State").selectOption("Any state");
  await page.getByLabel("Kind").selectOption("Click-to-call");
  await expect(page.getByText("No call matches these filters")).toBeVisible();
  await page.getByLabel("Kind").selectOption("Campaign");
  await expect(calls.getByRole("row")).toHaveCount(3);
  await page.getByLabel("Number").fill("9811777701");
  await page.keyboard.press("Enter");
  await page.reload();
  await expect(calls.getByRole("row")).toHaveCount(2);
  await calls.getByRole("link", { name: "9811777701" }).click();
  await expect(page.getByRole("heading", { name: /Call to 9811777701/ })).toBeFocused();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Completed");
  await expect(page.getByText("The menu ended")).toBeVisible();
  await expect(page.getByRole("region", { name: "Parties" })).toContainText("connected");
  await expect(page.getByRole("list", { name: "Path through the menu" })).toContainText("main: 1");
  await page.getByRole("link", { name: "Everything about +919811777701" }).click();
  await expect(page.getByRole("heading", { name: "+919811777701" })).toBeVisible();
  expect(problems).toEqual([]);
});

test("a call by a click is watched live, transferred to an extension that exists, ended, and placed again", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await clickToCall(service, "9811777900");
  await openPage("/calls?number=9811777900");
  await page.getByRole("link", { name: "9811777900" }).click();
  const heading = page.getByRole("heading", { level: 1 });
  await expect(heading).toContainText("Talking");
  const customer = page.getByRole("region", { name: "Parties" }).getByRole("listitem").last();
  await expect(customer).toContainText("connected");
  const [connected] = /connected \d+:\d\d/.exec((await customer.textContent())!)!;
  await expect(customer).not.toContainText(connected);
  await page.getByRole("button", { name: "Transfer" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Extension").fill("9");
  await dialog.getByRole("button", { name: "Transfer" }).click();
  await expect(dialog.getByLabel("Extension")).toBeFocused();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Discard changes" }).click();
  await page.getByRole("button", { name: "End call" }).click();
  await expect(page.getByText("Ended by a user or program")).toBeVisible();
  await expect(page.getByText("ended the call.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Call again" })).toHaveCount(0);

  await clickToCall(service, "9812777486");
  await page.goto(`${service.url}/calls?number=9812777486&status=busy`);
  await page.getByRole("link", { name: "9812777486" }).click();
  await expect(page.getByText("The customer was busy")).toBeVisible();
  const first = page.url();
  await page.getByRole("button", { name: "Call again" }).click();
  await dialog.getByRole("button", { name: "Call again" }).click();
  await expect(page).not.toHaveURL(first);
  await expect(page.getByText("The customer was busy")).toBeVisible();
  expect(problems).toEqual([]);
});

test("a call that ended while the agent picked up is placed again with the agent", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await clickToCall(service, "9813777486");
  await openPage("/calls?number=9813777486&status=busy");
  await page.getByRole("link", { name: "9813777486" }).click();
  await expect(page.getByText("The customer was busy")).toBeVisible();
  const call_id = Number(new URL(page.url()).pathname.split("/").at(-1));
  const db = await openDatabase(service);
  const { rowCount: crossed } = await db.query(
    "update call_legs set status = 'canceled' where call_id = $1 and role = 'agent' and answered_at is not null",
    [call_id],
  );
  await db.end();
  expect(crossed).toBe(1);
  await page.getByRole("button", { name: "Call again" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Call again" }).click();
  await expect(page).not.toHaveURL(new RegExp(`/calls/${call_id}$`));
  await expect(page.getByText("The customer was busy")).toBeVisible();
  expect(problems).toEqual([]);
});

/** Extension 101 calls a customer. */
async function clickToCall({ url, demo }: Service, to_number: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/clickToCallApis/clickToCall`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${demo.tokens["account"]}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ to_number, from_number: "101" }),
  });
  expect(answer.ok, await answer.text()).toBe(true);
}

test("the days of a list are typed with the keyboard, and take effect once they are whole", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/calls");
  const from = page.getByLabel("From");
  await from.focus();
  await from.pressSequentially("03152024");
  await expect(from).toHaveValue("2024-03-15");
  await expect(page).not.toHaveURL(/from=/);
  await from.press("Enter");
  await expect(page).toHaveURL(/from=2024-03-15/);
  const before = page.getByLabel("Before");
  await before.focus();
  await before.pressSequentially("12312023");
  await page.getByLabel("Number").focus();
  await expect(page).toHaveURL(/from=2024-03-15&to=2023-12-31/);
  await expect(page.getByText("No call matches these filters")).toBeVisible();
  await page.goBack();
  await expect(before).toHaveValue("");
  await expect(from).toHaveValue("2024-03-15");
  expect(problems).toEqual([]);
});
