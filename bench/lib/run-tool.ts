import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Runs a load tool and returns its output; throws with the output if it fails. */
export async function runTool(name: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(locateTool(name), args, { maxBuffer: 16 * 1_048_576 });
  return stdout;
}

/** Returns the path of a tool, on the PATH or in Debian's PostgreSQL folders; throws if it is not installed. */
export function locateTool(name: string): string {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const folders = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...versions.map((version) => join(debian, version, "bin")),
  ];
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (!found) throw new Error(`${name} is not installed: run scripts/install-test-tools.sh`);
  return found;
}
