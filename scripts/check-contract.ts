// `npm run check:contract`, after the tests: every clause of docs/contract.md and every measure of docs/security.md has a
// test that passed.
import { join } from "node:path";
import { checkContract } from "./check/contract.ts";

for (const page of ["docs/contract.md", "docs/security.md"]) {
  const { proved, later, violations } = checkContract(join(import.meta.dirname, ".."), page);
  for (const violation of violations) console.error(violation);
  console.log(
    `${page}: ${proved} rows with tests, ${later} later, ${violations.length} violations`,
  );
  if (violations.length > 0) process.exitCode = 1;
}
