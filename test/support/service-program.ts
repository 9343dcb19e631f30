import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * Returns what starts the version in a folder: its build, as operators run it, or else its sources. An outdated build runs
 * the sources.
 */
export function serviceProgram(version: string): string {
  const build = join(version, "dist/server/start.js");
  return existsSync(build) ? build : join(version, "server/main.ts");
}
