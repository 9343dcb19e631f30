// Every limit of voice campaigns, one bench after the other, in one table: `npm --prefix bench run voice`;
// `-- --smoke` does everything once and small.
import { runBenches } from "./lib/run-benches.ts";

await runBenches("Voice", ["voice-launch", "voice-calls"]);
