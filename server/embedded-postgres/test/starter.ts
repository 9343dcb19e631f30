// Owns an embedded PostgreSQL, for tests that kill it. Reports events as JSON lines, and stops cleanly on
// SIGTERM or at the end of its standard input.
import { startEmbeddedPostgres } from "../start-embedded-postgres.ts";

/** The properties of an EmbeddedPostgres. */
export type Owned = { readonly url: string; readonly adopted: boolean; readonly pid: number };
/** A line of its standard output. */
export type StarterLine =
  | { readonly log: string }
  | { readonly ready: Owned }
  | { readonly failed: { readonly name: string; readonly message: string } };

const report = (line: StarterLine) => process.stdout.write(`${JSON.stringify(line)}\n`);
try {
  const postgres = await startEmbeddedPostgres({
    dataDir: process.argv[2]!,
    log: (text) => report({ log: text }),
  });
  report({ ready: { url: postgres.url, adopted: postgres.adopted, pid: postgres.pid } });
  process.stdin.resume().once("end", () => void postgres.stop());
} catch (error) {
  report({ failed: { name: (error as Error).name, message: (error as Error).message } });
  process.exitCode = 1;
}
