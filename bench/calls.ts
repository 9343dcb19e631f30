// Every limit of calls, one bench after the other, in one table: `npm --prefix bench run calls`;
// `-- --smoke` does everything once and small.
import { runBenches } from "./lib/run-benches.ts";

await runBenches("Calls", ["calls-carried", "calls-placed"]);
