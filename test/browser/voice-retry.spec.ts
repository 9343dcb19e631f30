import { expect, launchCalls, test } from "./console-fixture.ts";

test("a retry of a reason calls the people that the reason lists, and those who declined have their own", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const id = await launchCalls(service, {
    campaign_name: "Declined",
    call_type: "obd_voice_call",
    number: "9866777486,9867777486,9866777603",
  });
  await openPage(`/voice/campaigns/${id}`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Completed");
  const not_reached = page.getByRole("region", { name: "Not reached" });
  const recipients = page.getByRole("table", { name: "Recipients" });
  await expect(not_reached.getByRole("listitem").filter({ hasText: "Busy" })).toContainText("2");
  await not_reached.getByRole("link", { name: "Declined" }).click();
  await expect(page.getByLabel("Reason")).toHaveValue("customer_declined");
  await expect(recipients.getByRole("row")).toHaveCount(2);
  await expect(recipients).toContainText("+919866777603");
  await expect(recipients).toContainText("Declined");
  const declined = not_reached.getByRole("listitem").filter({ hasText: "Declined" });
  await declined.getByRole("button", { name: "Retry" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("1 person is called once more.");
  await dialog.getByRole("button", { name: "Retry" }).click();
  await expect(page.getByText("1 person is called again")).toBeVisible();
  expect(problems).toEqual([]);
});
