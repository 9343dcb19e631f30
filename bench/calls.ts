// Runs the benchmarks of calls and prints all limits in one table: `npm --prefix bench run calls`;
// `-- --smoke` for a small run.
import { runBenches } from "./lib/run-benches.ts";

await runBenches("Calls", ["calls-carried", "calls-placed"]);
