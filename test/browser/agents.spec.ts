import { expect, holdRequests, test } from "./console-fixture.ts";

test("a group of agents is made, ordered by keyboard and renamed, and an extension is added to it", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/agents");
  await page.getByRole("button", { name: "New extension" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Extension", { exact: true }).fill("1");
  await dialog.getByLabel("Name", { exact: true }).fill("Night phone");
  await dialog.getByRole("button", { name: "Create extension" }).click();
  await expect(dialog.getByLabel("Extension", { exact: true })).toBeFocused();
  await dialog.getByLabel("Extension", { exact: true }).fill("771");
  await dialog.getByRole("button", { name: "Create extension" }).click();
  await expect(page.getByRole("table", { name: "Extensions" })).toContainText("Night phone");

  const menu = page.getByRole("button", { name: /^Olivia Owner/ });
  await menu.click();
  await expect(page.getByRole("link", { name: "Your profile" })).toBeVisible();
  await expect(page.getByRole("button", { name: /calls of groups/ })).toHaveCount(0);
  await page.getByRole("link", { name: "Your profile" }).click();
  await page.goBack();
  const own = page.getByRole("button", { name: "Change extension 771" });
  await own.click();
  await dialog.getByLabel("User").selectOption({ label: "Olivia Owner" });
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toHaveCount(0);
  await page.reload();
  await menu.click();
  await page.getByRole("button", { name: "Take no calls of groups" }).click();
  await expect(menu).toContainText("away");
  await page.getByRole("button", { name: "Take calls of groups again" }).click();
  await expect(menu).not.toContainText("away");
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "New group" }).click();
  await dialog.getByLabel("Name").fill("Night shift");
  await dialog.getByRole("button", { name: "Create group" }).click();
  const group = page.getByRole("region", { name: "Night shift" });
  for (const number of ["9876500091", "771"]) {
    await group.getByLabel("Extension or phone number").fill(number);
    await group.getByRole("button", { name: "Add a member" }).click();
    await expect(group.getByRole("list")).toContainText(number);
  }
  await expect(group.getByRole("listitem").nth(1)).toContainText("Night phone");
  await group.getByRole("button", { name: "Move 771 up" }).click();
  await expect(group.getByRole("listitem").nth(0)).toContainText("Night phone");
  await page.reload();
  await expect(group.getByRole("listitem").nth(0)).toContainText("Night phone");
  await expect(group.getByRole("listitem").nth(0)).toContainText("Free");
  await group.getByRole("button", { name: "Set away: 771" }).click();
  await expect(group.getByRole("listitem").nth(0)).not.toContainText("Free");
  await group.getByRole("button", { name: "Back: 771" }).click();
  await expect(group.getByRole("listitem").nth(0)).toContainText("Free");
  await group.getByRole("button", { name: "Remove 919876500091" }).click();
  await expect(group.getByRole("listitem")).toHaveCount(1);
  await group.getByRole("button", { name: "Rename Night shift" }).click();
  await dialog.getByLabel("Name").fill("Late shift");
  await dialog.getByRole("button", { name: "Rename" }).click();
  const renamed = page.getByRole("region", { name: "Late shift" });
  await renamed.getByRole("button", { name: "Delete Late shift" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(renamed).toHaveCount(0);
  await page.getByRole("button", { name: "Delete extension 771" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("table", { name: "Extensions" })).not.toContainText("Night phone");
  expect(problems).toEqual([]);
});

test("two members of a group that are moved quickly both keep their new places", async ({
  openPage,
  page,
  service,
}) => {
  const groups = `${service.url}/api/v1/agent-groups`;
  const headers = {
    authorization: `Bearer ${service.demo.tokens["account"]}`,
    "content-type": "application/json",
  };
  const post = async (url: string, json: object) =>
    (await fetch(url, { method: "POST", headers, body: JSON.stringify(json) })).json();
  const { id } = (await post(groups, { name: "Four phones" })) as { id: number };
  for (const digit of [1, 2, 3, 4])
    await post(`${groups}/${id}/members`, { number: `98765001${digit}0` });
  const release = await holdRequests(page, "PATCH", `**/api/v1/agent-groups/${id}/members/*`);
  await openPage("/agents");
  const group = page.getByRole("region", { name: "Four phones" });
  await group.getByRole("button", { name: /^Move .*9876500110 down$/ }).click();
  await group.getByRole("button", { name: /^Move .*9876500130 down$/ }).click();
  const list = group.getByRole("list");
  await expect(list).toHaveText(/500120.*500110.*500140.*500130/);
  release();
  await expect(list).not.toHaveAttribute("aria-busy", "true");
  await page.reload();
  await expect(list).toHaveText(/500120.*500110.*500140.*500130/);
  await fetch(`${groups}/${id}`, { method: "DELETE", headers });
});
