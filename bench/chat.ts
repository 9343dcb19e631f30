// Every limit of chat, one bench after the other, in one table: `npm --prefix bench run chat`;
// `-- --smoke` does everything once and small.
import { runBenches } from "./lib/run-benches.ts";

await runBenches("Chat", ["chat-intake", "chat-send", "chat-webhooks"]);
