// A night of an operator: the trunk of a running campaign fails, the page says why and what helps, and the export
// of the next morning has everyone.
import { readFile } from "node:fs/promises";
import { expect, launchCalls, test } from "./console-fixture.ts";

test("a campaign whose trunk is taken away says so, goes on when it is back, and its export has everyone", async ({
  openPage,
  page,
  service,
  problems,
}) => {
  await openPage("/installation");
  const dialog = page.getByRole("dialog");
  const trunk = page.getByRole("table", { name: "Trunks" }).getByRole("row", { name: /^sandbox/ });
  const change = async (active: boolean, legs_a_second: number) => {
    await trunk.getByRole("button", { name: "Change sandbox" }).click();
    await dialog.getByLabel("Takes new calls").setChecked(active);
    await dialog.getByLabel("New legs a second on sandbox").fill(String(legs_a_second));
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog).toHaveCount(0);
  };
  // So slow that the campaign is not over before its trunk is gone.
  await change(true, 1);
  const numbers = Array.from({ length: 20 }, (_, i) => `98766${String(i).padStart(2, "0")}050`);
  const id = await launchCalls(service, {
    campaign_name: "Night shift",
    call_type: "obd_voice_call",
    number: numbers.join(","),
  });
  await change(false, 1);
  await expect(trunk).toContainText("No new calls");
  const campaign = `${service.url}/voice/campaigns/${id}`;
  await page.goto(campaign);
  const hold = page.getByRole("region", { name: "Paused: The trunk cannot be used" });
  await expect(hold).toContainText("Resume to continue");

  await page.goto(`${service.url}/installation`);
  await change(true, 200);
  await expect(trunk).toContainText("In use");
  await page.goto(campaign);
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByText("Completed", { exact: true }).first()).toBeVisible();
  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "Export" }).click();
  const file = await readFile(await (await downloading).path(), "utf8");
  for (const number of numbers) expect(file).toContain(number);
  expect(problems).toEqual([]);
});
