import { createVoiceFile, expect, holdRequests, test } from "./console-fixture.ts";

test("a menu is built, tried on the page, launched, and its keys are counted on it", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/voice/menus");
  await page.getByRole("link", { name: "New menu" }).click();
  await expect(page.getByRole("heading", { name: "New menu" })).toBeFocused();
  const trial = page.getByRole("region", { name: "Try it" });
  await trial.getByLabel("Value of {{name}}").fill("Ada");
  await expect(trial).toContainText("Hello Ada! Press 1 to talk to us");

  // A step that leads nowhere is wrong at its place, once it is left.
  await page.getByLabel("Another step").selectOption("Say something");
  await page.getByRole("button", { name: "Add step" }).click();
  const added = page.getByRole("region", { name: /^play/ });
  await expect(added).toBeFocused();
  await expect(trial).toContainText("Complete the steps");
  const never = "This step is never reached: let a key or another step lead to it.";
  await expect(added).not.toContainText(never);
  const step_name = added.getByLabel("Name of this step");
  await step_name.fill("Opening hours");
  await page.getByLabel("Name of the menu").click();
  const misnamed = page.getByRole("region", { name: /^Opening hours/ });
  await expect(misnamed.getByLabel("Name of this step")).toHaveAccessibleDescription(/no spaces/);
  await misnamed.getByLabel("Name of this step").fill("hours");
  await misnamed.getByLabel("Says").click();
  await expect(page.getByRole("region", { name: /^hours/ })).toContainText(never);
  const hours = page.getByRole("region", { name: /^hours/ });
  await expect(hours.getByLabel("Says")).toBeFocused();
  await page.keyboard.type("We are open until six.");
  await hours.getByLabel("Then").selectOption("bye");
  const welcome = page.getByRole("region", { name: /^welcome/ });
  await welcome.getByRole("button", { name: "Add a key" }).click();
  await expect(welcome.getByLabel("Key 2 leads to")).toBeFocused();
  await welcome.getByLabel("Key 2 leads to").selectOption("hours");
  await expect(trial).toContainText("Hello Ada!");
  await welcome.getByRole("button", { name: "Add a key" }).click();
  await welcome.getByLabel("Key 3 leads to").selectOption("New step");
  await expect(page.getByRole("region", { name: /^play/ })).toBeFocused();
  await expect(welcome.getByLabel("Key 3 leads to")).toHaveValue("play");
  await page.getByRole("button", { name: "Remove play" }).click();
  await welcome.getByRole("button", { name: "Remove key 3" }).click();
  await expect(trial).toContainText("Hello Ada!");
  // The drawing follows.
  const arrow = (to: string) => page.getByLabel(`Edge from welcome to ${to}`);
  await expect(arrow("hours")).toContainText("2");
  await expect(arrow("bye")).toContainText("otherwise");

  await trial.getByRole("button", { name: "Press 5" }).click();
  await expect(trial).toContainText("5 is not a choice here, so it asks again.");
  await trial.getByRole("button", { name: "Start over" }).click();
  await trial.getByRole("button", { name: "Press 2" }).click();
  await expect(trial).toContainText("We are open until six.");
  await expect(hours).toContainText("The caller is here");
  await trial.getByRole("button", { name: "Skip ahead" }).click();
  await expect(trial).toContainText("Goodbye.");
  await trial.getByRole("button", { name: "Skip ahead" }).click();
  await expect(trial).toContainText("The menu hung up.");
  await trial.getByRole("button", { name: "Start over" }).click();
  await trial.getByRole("button", { name: "Press 9" }).click();
  await trial.getByRole("button", { name: "Skip ahead" }).click();
  await expect(trial).toContainText("The caller opted out.");

  await page.getByRole("button", { name: "Create menu" }).click();
  await expect(page.getByLabel("Name of the menu")).toHaveAccessibleDescription(/must/);
  await page.getByLabel("Name of the menu").fill("Opening hours");
  await page.getByRole("button", { name: "Create menu" }).click();
  await expect(page.getByRole("heading", { name: "Opening hours" })).toBeFocused();
  await page.getByRole("button", { name: "Call people with it" }).click();
  await expect(page.getByRole("radio", { name: "Menu" })).toBeChecked();
  await expect(page.getByLabel("Content").locator("option:checked")).toHaveText("Opening hours");
  await page.getByLabel("Campaign name").fill("Hours");
  await page.getByText("Test numbers for other outcomes").click();
  await expect(page.getByText("answers and presses 1")).toBeVisible();
  await page.getByLabel("Numbers").fill("9874777701");
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  await page.getByRole("button", { name: "Call 1 person" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Completed");
  const keys = page.getByRole("region", { name: "Keys pressed" });
  await expect(keys).toContainText(/Key 11.*Key 20.*Key 90/);
  // It has no step that transfers to agents.
  await expect(page.getByText("Abandoned")).toHaveCount(0);
  await expect(keys.getByText("1: 1×", { exact: true })).toBeVisible();
  expect(problems).toEqual([]);
});

test("a menu of content is kept, and one without is deleted", async ({
  openPage,
  page,
  service,
}) => {
  const answer = await fetch(`${service.url}/api/v1/voice/menus`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${service.demo.tokens["account"]}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({
      name: "Short menu",
      start: "bye",
      nodes: { bye: { type: "hang_up", prompt: { say: "Goodbye." } } },
    }),
  });
  const { id } = (await answer.json()) as { id: number };
  await openPage("/voice/menus/1");
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("dialog").getByRole("alert")).toBeVisible();
  await page.goto(`${service.url}/voice/menus/${id}`);
  await page.getByLabel("Says").fill("See you.");
  // What is not saved is kept until someone says otherwise.
  await page.getByRole("link", { name: "AI agents" }).click();
  const dialog = page.getByRole("dialog", { name: "Discard your changes?" });
  await dialog.getByRole("button", { name: "Stay" }).click();
  await expect(page.getByLabel("Says")).toHaveValue("See you.");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved for campaigns launched from now on")).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Says")).toHaveValue("See you.");
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("heading", { name: "Menus" })).toBeFocused();
  await expect(page.getByRole("link", { name: "Short menu" })).toHaveCount(0);
});

test("what is changed of a menu while it is saved is not counted as saved", async ({
  openPage,
  page,
}) => {
  await openPage("/voice/menus/new");
  const name = page.getByLabel("Name of the menu");
  await name.fill("Hotline");
  await page.getByRole("button", { name: "Create menu" }).click();
  await expect(page.getByRole("heading", { name: "Hotline" })).toBeFocused();
  const release = await holdRequests(page, "PATCH", "**/api/v1/voice/menus/*");
  await name.fill("Hotline by day");
  const save = page.getByRole("button", { name: "Save" });
  await save.click();
  await name.fill("Hotline at night");
  release();
  await expect(page.getByRole("heading", { name: "Hotline by day" })).toBeVisible();
  await expect(save).not.toHaveAttribute("aria-busy", "true");
  await expect(save).toBeEnabled();
});

test("a step that is given a taken or no name keeps its own, which is named at the field", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/voice/menus/new");
  const bye = page.getByRole("region", { name: /^bye/ });
  const name = bye.getByLabel("Name of this step");
  await name.fill("welcome");
  await page.getByLabel("Name of the menu").click();
  await expect(name).toHaveAccessibleDescription(
    "Another step is named welcome. This one is still named bye.",
  );
  await expect(name).toHaveValue("welcome");
  await name.fill(" ");
  await page.getByLabel("Name of the menu").click();
  await expect(name).toHaveAccessibleDescription("Enter a name. The step is still named bye.");
  await name.fill("farewell");
  await page.getByLabel("Name of the menu").click();
  const farewell = page.getByRole("region", { name: /^farewell/ });
  await expect(farewell.getByLabel("Name of this step")).toHaveAccessibleDescription("");
  expect(problems).toEqual([]);
});

test("a step that names a group, an extension or an audio that does not exist says so at the field", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const send = async (method: string, path: string, json?: object) => {
    const answer = await fetch(`${service.url}/api/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${service.demo.tokens["account"]}`,
        ...(json ? { "content-type": "application/json" } : {}),
      },
      ...(json ? { body: JSON.stringify(json) } : {}),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return answer;
  };
  const make = async (path: string, json: object) =>
    ((await (await send("POST", path, json)).json()) as { id: number }).id;
  const file = await createVoiceFile(service, { name: "Gone audio" });
  const group = await make("agent-groups", { name: "Gone group" });
  const menu = await make("voice/menus", {
    name: "To what is gone",
    start: "talk",
    nodes: {
      talk: { type: "transfer", to: { agent_group_id: group }, otherwise: "bye" },
      bye: { type: "hang_up", prompt: { say: "Goodbye." } },
    },
  });
  await send("DELETE", `agent-groups/${group}`);

  await openPage(`/voice/menus/${menu}`);
  const talk = page.getByRole("region", { name: /^talk/ });
  const bye = page.getByRole("region", { name: /^bye/ });
  const groups = talk.getByLabel("Group of agents");
  await expect(groups.locator("option:checked")).toHaveText(`Group ${group}`);
  await bye.getByLabel("Or plays").selectOption("Gone audio");
  await send("DELETE", `voice/files/${file}`);
  const save = page.getByRole("button", { name: "Save" });
  await save.click();
  await expect(groups).toHaveAccessibleDescription(
    "Group of agents is not an agent group of this account.",
  );
  await expect(bye.getByLabel("Says")).toHaveAccessibleDescription(
    "Choose a voice file that has audio and is not archived.",
  );
  await bye.getByLabel("Says").selectOption("No audio: its text");
  await bye.getByLabel("Says").fill("Goodbye.");
  await groups.selectOption("None: an extension");
  const extension = talk.getByLabel("Extension");
  await extension.fill("999");
  await save.click();
  await expect(extension).toHaveAccessibleDescription(
    "Extension is not an extension of this account.",
  );
  await extension.fill("101");
  await save.click();
  await expect(page.getByText("Saved for campaigns launched from now on")).toBeVisible();
  expect(problems).toEqual([]);
});
