import { expect, test } from "./console-fixture.ts";

test("an AI agent is written, corrected at its fields, saved, changed and deleted", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/voice/agents");
  await page.getByRole("link", { name: "New agent" }).click();
  await expect(page.getByRole("heading", { name: "New AI agent" })).toBeFocused();
  await page.getByRole("button", { name: "Create agent" }).click();
  await expect(page.getByLabel("Name", { exact: true })).toBeFocused();
  await page.getByLabel("Name", { exact: true }).fill("Front office");
  const second = page.getByRole("group", { name: "Answer 2" });
  await second.getByLabel("Words").fill("stop, no more");
  await second.getByLabel("Then").selectOption("Transfer to an agent");
  await page.getByRole("button", { name: "Create agent" }).click();
  await expect(second.getByLabel("Then")).toBeFocused();
  await page.getByLabel("Group of agents").selectOption("Support");
  await page.getByRole("button", { name: "Add a question" }).click();
  await page.getByLabel("Lead field").fill("budget");
  await page.getByLabel("Question", { exact: true }).fill("What is your budget?");
  await page.getByRole("button", { name: "Create agent" }).click();
  await expect(page.getByRole("heading", { name: "Front office" })).toBeFocused();
  await page.reload();
  await expect(second.getByLabel("Words")).toHaveValue("stop, no more");
  await expect(page.getByLabel("Group of agents")).toHaveValue("1");
  await page.getByRole("button", { name: "Remove answer 2" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved for campaigns launched from now on")).toBeVisible();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("heading", { name: "AI agents" })).toBeFocused();
  await expect(page.getByRole("link", { name: "Front office" })).toHaveCount(0);
  expect(problems).toEqual([]);
});
