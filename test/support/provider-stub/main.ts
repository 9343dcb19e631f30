// Runs the stub as a separate process: `node test/support/provider-stub/main.ts`. It prints `listening <url>` and
// runs until a signal or, if its standard input is a pipe, until that ends.
//   STUB_PORT (0: any free port), STUB_LOG_FILE, STUB_SETTINGS (JSON: some of StubSettings)
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
// The stub ends when its parent is killed.
if (fstatSync(0).isFIFO() || fstatSync(0).isSocket()) process.stdin.resume().on("end", stop);
process.on("SIGTERM", stop);
process.on("SIGINT", stop);
