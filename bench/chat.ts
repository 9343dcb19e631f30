// Runs the benchmarks of chat and prints all limits in one table: `npm --prefix bench run chat`;
// `-- --smoke` for a small run.
import { runBenches } from "./lib/run-benches.ts";

await runBenches("Chat", ["chat-intake", "chat-send", "chat-send-many", "chat-webhooks"]);
