import { expect, holdRequests, openAway, signInByLink, test } from "./console-fixture.ts";

test("one talks to an AI agent that is not saved, by the microphone, keys and typing, and sees what a call would do", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/voice/agents/new");
  const panel = page.getByRole("region", { name: "Talk to it" });
  const conversation = panel.getByRole("log", { name: "Conversation" });
  const outcome = panel.getByRole("region", { name: "What a call would do" });
  await page.getByLabel("Greeting").fill("");
  await panel.getByRole("button", { name: "Start talking" }).click();
  await expect(page.getByLabel("Greeting")).toBeFocused();
  await expect(panel.getByRole("status")).toHaveText("Correct the marked fields first.");
  await page.getByLabel("Greeting").fill("Good morning {{name|there}}.");
  await page.getByRole("button", { name: "Add a question" }).click();
  await page.getByLabel("Lead field").fill("city");
  await page.getByLabel("Question", { exact: true }).fill("Which city?");
  // The conversation goes on with this one while its keys are pressed.
  await page.getByRole("button", { name: "Add a question" }).click();
  await page.getByLabel("Lead field").nth(1).fill("street");
  await page.getByLabel("Question", { exact: true }).nth(1).fill("Which street?");
  await panel.getByLabel("Value of {{name}}").fill("Ada");
  await panel.getByRole("button", { name: "Talk again" }).click();
  // The service reads the voice and synthesizes every text first.
  await expect(panel.getByRole("status")).toHaveText("Speak, press a key, or type.", {
    timeout: 120_000,
  });
  await expect(conversation).toContainText("Good morning Ada.");
  // Said by the WAV of the microphone, and recognized by the service.
  await expect(conversation).toContainText("opening hours");
  await expect(conversation).toContainText("We are open from nine to five.");
  await expect(conversation).toContainText("Which city?");
  await panel.getByLabel("Type what the caller says").fill("Pune");
  await page.keyboard.press("Enter");
  await expect(outcome.getByText("Pune")).toBeVisible();
  await panel.getByRole("button", { name: "Press 9" }).click();
  await expect(outcome).toContainText("It suppresses the number for calls.");
  await expect(outcome).toContainText("It ends the call.");
  await expect(panel.getByRole("status")).toHaveText("The conversation is over.");
  await panel.getByRole("button", { name: "Keep as a rehearsal" }).click();
  const rehearsal = page.getByRole("group", { name: "Rehearsal 1" });
  // The microphone repeats its words meanwhile.
  await expect(rehearsal.getByLabel("What the caller does")).toHaveValue(
    /^opening hours\n[^]*Pune\n[^]*press 9/,
  );
  await expect(rehearsal.getByText("city: Pune.")).toBeVisible();
  expect(problems).toEqual([]);
});

test("rehearsals run again with each change, before and after it is saved, and people are called with the agent", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/voice/agents/new");
  await page.getByLabel("Name", { exact: true }).fill("Rehearsed");
  await page.getByRole("button", { name: "Add a rehearsal" }).click();
  const rehearsal = page.getByRole("group", { name: "Rehearsal 1" });
  const verdict = rehearsal.getByRole("status");
  const steps = rehearsal.getByLabel("What the caller does");
  await steps.fill("press 1\nPlease stop");
  await expect(rehearsal.getByText("It ends the call. The number is suppressed.")).toBeVisible();
  await expect(verdict).toHaveText("Nothing is expected yet");
  await rehearsal.getByRole("button", { name: "Expect this" }).click();
  await expect(verdict).toHaveText("As expected");
  const stop = page.getByRole("group", { name: "Answer 2" });
  await stop.getByLabel("Then").selectOption("Hang up");
  await expect(verdict).toHaveText("Changed");
  await expect(rehearsal.getByText("Opt-out, expected and now")).toBeVisible();
  await page.getByRole("button", { name: "Create agent" }).click();
  await expect(page.getByRole("heading", { name: "Rehearsed" })).toBeFocused();
  await page.reload();
  await expect(steps).toHaveValue("press 1\nPlease stop");
  await expect(verdict).toHaveText("Changed");
  await stop.getByLabel("Then").selectOption("Opt out, and hang up");
  await expect(verdict).toHaveText("As expected");
  await steps.fill("wait 200");
  await expect(steps).toHaveAttribute("aria-invalid", "true");
  // Nothing played it so far.
  await page.getByRole("button", { name: "Call people with it" }).click();
  await page.getByRole("button", { name: "Discard changes" }).click();
  await expect(page.getByRole("radio", { name: "AI agent" })).toBeChecked();
  await expect(page.getByLabel("Content").locator("option:checked")).toHaveText("Rehearsed");
  expect(problems.filter((problem) => !problem.includes("422"))).toEqual([]);
});

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
  const extension = page.getByLabel("Extension");
  await extension.fill("999");
  await page.getByRole("button", { name: "Create agent" }).click();
  await expect(extension).toBeFocused();
  await expect(extension).toHaveAccessibleDescription(
    "Extension is not an extension of this account.",
  );
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
  await page.getByRole("link", { name: "Menus" }).click();
  const discard = page.getByRole("dialog", { name: "Discard your changes?" });
  await discard.getByRole("button", { name: "Stay" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved for campaigns launched from now on")).toBeVisible();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("heading", { name: "AI agents" })).toBeFocused();
  await expect(page.getByRole("link", { name: "Front office" })).toHaveCount(0);
  expect(problems).toEqual([]);
});

test("a limit of an AI agent is typed again, and an empty one is the default", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/voice/agents/new");
  await page.getByLabel("Name", { exact: true }).fill("Patient");
  const silence = page.getByLabel("Seconds of silence that end it");
  await silence.fill("30");
  await page.getByRole("button", { name: "Create agent" }).click();
  await expect(page.getByRole("heading", { name: "Patient" })).toBeFocused();
  await expect(silence).toHaveValue("30");
  await silence.press("End");
  await silence.press("Backspace");
  await silence.press("Backspace");
  await expect(silence).toHaveValue("");
  await silence.pressSequentially("5");
  await expect(silence).toHaveValue("5");
  await silence.fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved for campaigns launched from now on").last()).toBeVisible();
  await page.reload();
  await expect(silence).toHaveValue("10");
  expect(problems).toEqual([]);
});

test("what is changed of an AI agent while it is saved is not counted as saved", async ({
  openPage,
  page,
}) => {
  await openPage("/voice/agents/new");
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("Receptionist");
  await page.getByRole("button", { name: "Create agent" }).click();
  await expect(page.getByRole("heading", { name: "Receptionist" })).toBeFocused();
  const release = await holdRequests(page, "PATCH", "**/api/v1/voice/agents/*");
  await name.fill("Reception");
  await page.getByRole("button", { name: "Save" }).click();
  await name.fill("Reception at night");
  release();
  await expect(page.getByRole("heading", { name: "Reception" })).toBeVisible();
  await page.getByRole("link", { name: "Menus" }).click();
  await expect(page.getByRole("dialog", { name: "Discard your changes?" })).toBeVisible();
});

test("a callback that an AI agent promises is in the account's time zone", async ({
  browser,
  service,
}) => {
  const page = await openAway(browser);
  await page.routeWebSocket("**/api/v1/voice/agents/talk", (socket) => {
    socket.onMessage((message) => {
      if (typeof message !== "string" || JSON.parse(message).type !== "start") return;
      socket.send(JSON.stringify({ type: "ready" }));
      socket.send(JSON.stringify({ type: "said", who: "agent", text: "Until then." }));
      const tool = { name: "schedule_callback", at: "2030-01-15T10:00:00Z" };
      socket.send(JSON.stringify({ type: "tool", tool }));
    });
  });
  await signInByLink(page, service, service.demo.tokens["account"]!);
  await page.goto(`${service.url}/voice/agents/new`);
  await page.getByRole("button", { name: "Start talking" }).click();
  const outcome = page.getByRole("region", { name: "What a call would do" });
  await expect(outcome).toContainText(/It calls back at Jan 15, 2030, 3:30\sPM\./);
  await page.context().close();
});
