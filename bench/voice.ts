// Runs the benchmarks of voice campaigns and prints all limits in one table: `npm --prefix bench run voice`;
// `-- --smoke` for a small run.
import { runBenches } from "./lib/run-benches.ts";

await runBenches("Voice", ["voice-launch", "voice-calls"]);
