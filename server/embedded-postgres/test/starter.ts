// A program that owns an embedded PostgreSQL, for tests that kill it. It tells what happens in
// JSON lines and stops in good order when it is told to or when its standard input ends.
import { startEmbeddedPostgres } from "../start-embedded-postgres.ts";

/** What an EmbeddedPostgres says of itself. */
export type Owned = { readonly url: string; readonly adopted: boolean; readonly pid: number };
/** A line of its standard output. */
export type StarterLine =
  | { readonly log: string }
  | { readonly ready: Owned }
  | { readonly failed: { readonly name: string; readonly message: string } };

const tell = (line: StarterLine) => process.stdout.write(`${JSON.stringify(line)}\n`);
try {
  const postgres = await startEmbeddedPostgres({
    dataDir: process.argv[2]!,
    log: (text) => tell({ log: text }),
  });
  tell({ ready: { url: postgres.url, adopted: postgres.adopted, pid: postgres.pid } });
  process.stdin.resume().once("end", () => void postgres.stop());
} catch (error) {
  tell({ failed: { name: (error as Error).name, message: (error as Error).message } });
  process.exitCode = 1;
}
