// `npm run check:statements`, after the tests: every SQL statement that they made the server issue keeps the rules of
// scripts/check/sql.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { checkStatements } from "./check/statements.ts";

/** Not of the server, or of the command line, whose commands are about all accounts. */
const omitted = /\.test\.ts$|\/test\/|^server\/cli\//;
const root = join(import.meta.dirname, "..");
const files = execFileSync("git", ["ls-files", "-z", "--", "server/*.ts"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\0")
  .filter((file) => file !== "" && !omitted.test(file));
const { statements, violations } = checkStatements(root, files);
for (const violation of violations) console.error(violation);
console.log(`${statements} statements, ${violations.length} violations`);
if (statements === 0) console.error("no statement was recorded: run the tests first");
if (statements === 0 || violations.length > 0) process.exitCode = 1;
