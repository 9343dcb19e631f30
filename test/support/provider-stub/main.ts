// The stub as a process of its own: `node test/support/provider-stub/main.ts`. It prints
// `listening <url>` and lives until its standard input ends (when that is a pipe) or a signal.
//   STUB_PORT (0: a free one), STUB_LOG_FILE, STUB_SETTINGS (JSON: some of StubSettings)
import { fstatSync } from "node:fs";
import { startProviderStub } from "./start-provider-stub.ts";
import type { StubSettings } from "./settings.ts";

const { STUB_PORT, STUB_LOG_FILE, STUB_SETTINGS } = process.env;
const stub = await startProviderStub({
  ...(JSON.parse(STUB_SETTINGS || "{}") as Partial<StubSettings>),
  ...(STUB_LOG_FILE ? { log_file: STUB_LOG_FILE } : {}),
  port: Number(STUB_PORT || "0"),
});
console.log(`listening ${stub.url}`);
const stop = () => {
  void stub.close().then(() => process.exit(0));
};
// A parent that is killed takes the stub along.
if (fstatSync(0).isFIFO() || fstatSync(0).isSocket()) process.stdin.resume().on("end", stop);
process.on("SIGTERM", stop);
process.on("SIGINT", stop);
