import type { Page } from "@playwright/test";
import { createVoiceFile, expect, test } from "./console-fixture.ts";

test("a recording is uploaded, played, given a script that is synthesized with a person's values, and used in a campaign", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/voice/files");
  await page.getByRole("link", { name: "New content" }).click();
  await expect(page.getByRole("heading", { name: "New content" })).toBeFocused();
  await page.getByLabel("Name").fill("Shop is open");
  await page.getByRole("button", { name: "Create" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await page.getByLabel("Choose an audio file").setInputFiles("server/seed-demo/demo-message.wav");
  await expect(page.getByLabel("Listen to demo-message.wav")).toBeVisible();
  await page.getByRole("button", { name: "Create" }).click();
  await expect(page.getByRole("heading", { name: "Shop is open" })).toContainText("Ready");
  const player = page.getByLabel("Audio of Shop is open");
  await expect
    .poll(() => player.evaluate((audio: HTMLAudioElement) => audio.duration))
    .toBeGreaterThan(1);
  await page
    .getByRole("textbox", { name: "Script" })
    .fill("Hello {{name}}, we are open until {{hour|six}}.");
  const preview = page.getByRole("region", { name: "Preview of the script" });
  await preview.getByRole("button", { name: "Listen" }).click();
  await expect(preview.getByLabel("Value of {{name}}")).toHaveAccessibleDescription(/is required/);
  await preview.getByLabel("Value of {{name}}").fill("Grace");
  await expect(preview).toContainText("Hello Grace, we are open until six.");
  await preview.getByRole("button", { name: "Listen" }).click();
  const synthesized = preview.getByLabel("Synthesized script");
  await expect
    .poll(() => synthesized.evaluate((audio: HTMLAudioElement) => audio.duration))
    .toBeGreaterThan(1);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved for campaigns launched from now on")).toBeVisible();
  await page.getByRole("link", { name: "Use in a campaign" }).click();
  await expect(page.getByRole("radio", { name: "Personal script" })).toBeChecked();
  await expect(page.getByLabel("Content")).toHaveValue(/\d+/);
  // What another kind of call cannot play is chosen no longer.
  await page.getByRole("radio", { name: "Menu" }).check();
  await expect(page.getByLabel("Content")).toHaveValue("");
  await page.goBack();
  await page.getByRole("link", { name: "Use in a campaign" }).click();
  await page.getByLabel("Campaign name").fill("Open today");
  await page.getByLabel("Numbers").fill("phone,name\n9876777811,Lin");
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  await page.getByRole("button", { name: "Call 1 person" }).click();
  await expect(page.getByRole("heading", { name: "Open today", level: 1 })).toBeVisible();
  expect(problems).toEqual([]);
});

test("a message is recorded in the browser, and archived", async ({ openPage, page, problems }) => {
  await openPage("/voice/files/new");
  await page.getByLabel("Name").fill("From the microphone");
  await page.getByRole("radio", { name: "Record" }).check();
  await page.getByRole("button", { name: "Start recording" }).click();
  await expect(page.getByText("Recording…")).toBeVisible();
  await page.getByRole("button", { name: "Stop recording" }).click();
  await expect(page.getByLabel("Listen to recording.wav")).toBeVisible();
  await page.getByRole("button", { name: "Create" }).click();
  await expect(page.getByRole("heading", { name: "From the microphone" })).toContainText("Ready");
  await page.getByRole("button", { name: "Archive" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Archive" }).click();
  await expect(page.getByRole("heading", { name: "Audio & scripts" })).toBeFocused();
  await expect(page.getByRole("link", { name: "From the microphone" })).toHaveCount(0);
  expect(problems).toEqual([]);
});

type Microphone = {
  readonly streams: MediaStream[];
  decoded: number;
  /** Lets through what is held, and returns how much that was. */
  readonly release: () => number;
};

/** Holds each access to the microphone and each decoding of a recording until it is released. */
async function holdMicrophone(page: Page) {
  const handle = await page.evaluateHandle(() => {
    const waiting: (() => void)[] = [];
    const held = () =>
      new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    const release = () => waiting.splice(0).map((resolve) => resolve()).length;
    const microphone: Microphone = { streams: [], decoded: 0, release };
    const { mediaDevices } = navigator;
    const open = mediaDevices.getUserMedia.bind(mediaDevices);
    mediaDevices.getUserMedia = async (constraints) => {
      await held();
      const stream = await open(constraints);
      microphone.streams.push(stream);
      return stream;
    };
    const decode = OfflineAudioContext.prototype.decodeAudioData;
    OfflineAudioContext.prototype.decodeAudioData = async function decodeHeld(data) {
      await held();
      const decoded = await decode.call(this, data);
      microphone.decoded++;
      return decoded;
    };
    return microphone;
  });
  return {
    release: () => expect.poll(() => handle.evaluate((held) => held.release())).toBeGreaterThan(0),
    decoded: () => handle.evaluate((held) => held.decoded),
    states: () =>
      handle.evaluate(({ streams }) => streams.map((stream) => stream.getTracks()[0]!.readyState)),
  };
}

test("a double click begins one recording, the next begins once the last one is read, and the microphone is off after each", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/voice/files/new");
  const microphone = await holdMicrophone(page);
  await page.getByRole("radio", { name: "Record" }).check();
  const start = page.getByRole("button", { name: "Start recording" });
  const stop = page.getByRole("button", { name: "Stop recording" });
  await start.dblclick();
  await microphone.release();
  await expect(page.getByText("Recording…")).toBeVisible();
  expect(await microphone.states()).toEqual(["live"]);
  await stop.click();
  await expect.poll(microphone.states).toEqual(["ended"]);
  await expect(stop).toHaveAttribute("aria-busy", "true");
  await microphone.release();
  await expect(page.getByLabel("Listen to recording.wav")).toBeVisible();
  await start.click();
  await microphone.release();
  await expect(page.getByText("Recording…")).toBeVisible();
  await stop.click();
  await microphone.release();
  await expect(start).not.toHaveAttribute("aria-busy", "true");
  expect(await microphone.states()).toEqual(["ended", "ended"]);
  expect(problems).toEqual([]);
});

test("a recording that another kind of audio replaces while it begins or ends is dropped, and the microphone is off", async ({
  openPage,
  page,
  problems,
  settled,
}) => {
  await openPage("/voice/files/new");
  const microphone = await holdMicrophone(page);
  const record = page.getByRole("radio", { name: "Record" });
  const upload = page.getByRole("radio", { name: "Upload a file" });
  await record.check();
  await page.getByRole("button", { name: "Start recording" }).click();
  await upload.check();
  await microphone.release();
  await expect.poll(microphone.states).toEqual(["ended"]);
  await record.check();
  await page.getByRole("button", { name: "Start recording" }).click();
  await microphone.release();
  await page.getByRole("button", { name: "Stop recording" }).click();
  await upload.check();
  await microphone.release();
  await expect.poll(microphone.decoded).toBeGreaterThan(0);
  await settled();
  await expect(upload).toBeChecked();
  expect(await microphone.states()).toEqual(["ended", "ended"]);
  expect(problems).toEqual([]);
});

test("a change of one setting keeps the others, also when it is saved again", async ({
  openPage,
  page,
  service,
  settled,
}) => {
  await openPage("/voice/files/1");
  await expect(page.getByRole("combobox", { name: "Menu" })).toHaveValue("1");
  await expect(page.getByRole("combobox", { name: "AI agent" })).toHaveValue("1");
  const file = async (patch?: object) => {
    const answer = await fetch(`${service.url}/api/v1/voice/files/1`, {
      method: patch ? "PATCH" : "GET",
      headers: {
        authorization: `Bearer ${service.demo.tokens["account"]}`,
        ...(patch ? { "content-type": "application/json" } : {}),
      },
      ...(patch ? { body: JSON.stringify(patch) } : {}),
    });
    return (await answer.json()) as { name: string };
  };
  const { name } = await file();
  // Somebody else changes it while the page is open.
  await file({ opt_out_key: "8" });
  await page.getByLabel("Name", { exact: true }).fill("Renamed");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved for campaigns launched from now on")).toBeVisible();
  expect(await file({ name })).toMatchObject({ menu_id: 1, ai_agent_id: 1, opt_out_key: "8" });
  await page.getByRole("button", { name: "Save" }).click();
  await settled();
  expect(await file()).toMatchObject({ name });
  await file({ opt_out_key: "9" });
});

test("a script that says the number is filled from the column of the numbers, in a list and in a large file", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const id = await createVoiceFile(service, { name: "Your number", script: "We call {{phone}}." });
  await openPage("/voice/campaigns/new");
  await page.getByLabel("Campaign name").fill("Your number");
  await page.getByRole("radio", { name: "Personal script" }).check();
  await page.getByLabel("Content").selectOption(String(id));
  const check = async () => {
    await expect(page.getByRole("complementary", { name: "Preview" })).toContainText(
      "We call 9876777821.",
    );
    await page.getByRole("button", { name: "Check with a dry run" }).click();
    await expect(page.getByRole("button", { name: "Call 1 person" })).toBeVisible();
  };
  await page.getByLabel("Numbers").fill("phone\n9876777821");
  await check();
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByLabel("Or read a CSV file").setInputFiles({
    name: "numbers.csv",
    mimeType: "text/csv",
    buffer: Buffer.from("\ufeffphone\r\n9876777821\r\n", "utf16le"),
  });
  await check();
  expect(problems).toEqual([]);
});
