import { listAccounts } from "../accounts/accounts/accounts.ts";
import { rebuildMessageCounts } from "../reports/count-campaigns.ts";
import { rebuildCallCounts } from "../reports/fold-calls.ts";
import type { Command } from "./command.ts";
import { readId } from "./read-words.ts";
import { textTable } from "./text-table.ts";

export const reportCommands: readonly Command[] = [
  {
    name: "reports rebuild",
    summary: "Count messages, and the calls of past days, again for reports; the service may run",
    options: {
      account: { value: "account", about: "Only this account; default all" },
    },
    run: async (session, words) => {
      const only = words.option("account");
      const db = await session.migratedDatabase();
      const accounts =
        only === undefined
          ? await listAccounts(db.query)
          : [await session.account(readId("--account", only))];
      const data: { account: number; campaigns: number; days: number }[] = [];
      for (const { id } of accounts) {
        const campaigns = await rebuildMessageCounts({ db }, id);
        const days = await rebuildCallCounts({ db, clock: session }, id);
        data.push({ account: id, campaigns, days });
      }
      return { json: { data }, text: textTable(data, ["account", "campaigns", "days"]) };
    },
  },
];
