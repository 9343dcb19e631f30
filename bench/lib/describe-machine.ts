import { readFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";

/** Describes the machine of the measurements, one fact per line. */
export function describeMachine(postgresVersion: string): string[] {
  return [
    `date: ${new Date().toISOString().slice(0, 16)}Z`,
    `processor: ${availableParallelism()} cores of ${cpus()[0]?.model ?? "an unknown model"}`,
    `memory: ${Math.round(totalmem() / 2 ** 30)} GB`,
    `system: ${type()} ${release()}, ${distribution()}`,
    `node: ${process.version}`,
    `PostgreSQL: ${postgresVersion}, its default durability (fsync and synchronous_commit on)`,
  ];
}

function distribution(): string {
  try {
    return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "unknown";
  } catch {
    return "unknown";
  }
}
