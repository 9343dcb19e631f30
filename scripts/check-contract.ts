// `npm run check:contract`, after the tests: every clause of docs/contract.md has a test that passed.
import { join } from "node:path";
import { checkContract } from "./check/contract.ts";

const { proved, later, violations } = checkContract(
  join(import.meta.dirname, ".."),
  "docs/contract.md",
);
for (const violation of violations) console.error(violation);
console.log(
  `contract: ${proved} clauses with tests, ${later} later, ${violations.length} violations`,
);
if (violations.length > 0) process.exitCode = 1;
