// `npm run check:contract`, after the tests: every clause of docs/contract.md has a test that passed.
import { join } from "node:path";
import { checkContract } from "./check/contract.ts";

const { proved, later, faults } = checkContract(
  join(import.meta.dirname, ".."),
  "docs/contract.md",
);
for (const fault of faults) console.error(fault);
console.log(`contract: ${proved} clauses with tests, ${later} later, ${faults.length} faults`);
if (faults.length > 0) process.exitCode = 1;
