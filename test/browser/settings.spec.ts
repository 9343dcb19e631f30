import { createCampaign, expect, launchCalls, test } from "./console-fixture.ts";

test("settings of the account are changed by section, and a violation is at its field", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await openPage("/settings/account");
  const calls = page.locator("form").filter({ has: page.getByRole("heading", { name: "Calls" }) });
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

test("the ledger shows what a campaign set aside and spent, and reports count what it sent and called", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await createCampaign(service, "Counted", ["919876500081"]);
  await launchCalls(service, {
    campaign_name: "Counted calls",
    call_type: "obd_voice_call",
    number: "9876500082",
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
