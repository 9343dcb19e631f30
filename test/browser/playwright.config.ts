import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineConfig } from "@playwright/test";
import { encodeWav } from "../../server/lib/audio/wav.ts";
import { silence, tone } from "../support/tones.ts";

/** The sound of the browser's microphone, over and over: half a second of sound, then silence. */
const microphone = join(import.meta.dirname, "../../.cache/microphone.wav");
mkdirSync(dirname(microphone), { recursive: true });
writeFileSync(microphone, encodeWav(Buffer.concat([tone(500), silence(4_000)])));

export default defineConfig({
  testDir: import.meta.dirname,
  testMatch: "*.spec.ts",
  outputDir: "../../.cache/browser",
  reporter: [["list"]],
  // Each has a service of its own, and waits for calls and timers a third of its time.
  workers: 3,
  forbidOnly: true,
  retries: 0,
  // A busy machine is slow, not wrong.
  timeout: 600_000,
  expect: { timeout: 120_000 },
  use: {
    launchOptions: {
      executablePath: "/usr/bin/chromium-headless-shell",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        // Each test is a process of its own, which ends before optimized code has paid for itself.
        "--js-flags=--no-opt --always-sparkplug",
        // A microphone, and the permission to use it.
        "--use-fake-device-for-media-stream",
        `--use-file-for-fake-audio-capture=${microphone}`,
        "--use-fake-ui-for-media-stream",
      ],
    },
    screenshot: "only-on-failure",
    trace: "off",
    // Painted in software, motion costs a sixth of the browser's time. budgets.spec.ts has it.
    contextOptions: { reducedMotion: "reduce" },
  },
});
