import { recordAudit } from "../accounts/audit/record-audit.ts";
import { listUnreadWebhooks, reprocessWebhooks } from "../chat/inbound/unread-webhooks.ts";
import type { Command } from "./command.ts";
import { readId } from "./read-words.ts";
import { textTable } from "./text-table.ts";

export const webhookCommands: readonly Command[] = [
  {
    name: "webhooks unread",
    summary: "List chat webhooks whose content could not be read",
    run: async (session) => {
      const db = await session.migratedDatabase();
      const unread = await listUnreadWebhooks(db.pool);
      const columns = ["account_id", "reason", "count", "oldest_at"] as const;
      return { json: { data: unread }, text: textTable(unread, columns) };
    },
  },
  {
    name: "webhooks reprocess",
    summary: "Read an account's unread chat webhooks again",
    operands: ["account"],
    run: async (session, words) => {
      const id = readId("account", words.operands[0]!);
      const count = await session.change(id, async (tx, { actor }) => {
        const now = session.now();
        const returned = await reprocessWebhooks(tx, id, now);
        await recordAudit(tx, actor, {
          at: now,
          action: "chat_webhooks.reprocessed",
          subject_id: id,
          detail: { count: returned },
        });
        return returned;
      });
      return { json: { count }, text: `${count} webhooks are read again` };
    },
  },
];
