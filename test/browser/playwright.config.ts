import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: import.meta.dirname,
  testMatch: "*.spec.ts",
  outputDir: "../../.cache/browser",
  reporter: [["list"]],
  workers: 1,
  forbidOnly: true,
  retries: 0,
  timeout: 60_000,
  use: {
    launchOptions: {
      executablePath: "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
    },
    screenshot: "only-on-failure",
    trace: "retain-on-failure",
  },
});
