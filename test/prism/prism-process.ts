import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";

const program = join(import.meta.dirname, "node_modules/@stoplight/prism-cli/dist/index.js");

export type PrismProcess = {
  readonly url: string;
  /** Returns what it printed so far. */
  output(): string;
  stop(): Promise<void>;
};

/** Starts Prism as a proxy of `upstream` that validates against the OpenAPI document at `document`. */
export async function startPrism(document: string, upstream: string): Promise<PrismProcess> {
  const port = await freePort();
  const options = ["--port", String(port), "--host", "127.0.0.1", "--verboseLevel", "info"];
  const child = spawn(process.execPath, [program, "proxy", document, upstream, ...options], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, "exit");
  await eventually(() => {
    if (child.exitCode !== null) throw new Error(`Prism did not start:\n${output}`);
    return output.includes("listening");
  });
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    async stop() {
      child.kill();
      await ended;
    },
  };
}
