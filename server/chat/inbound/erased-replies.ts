// Replies of erased persons. Their message IDs contain the number, and are replaced by hashes, by which a webhook that is
// applied again is recognized.
import { createHash } from "node:crypto";
import { statement, type Executor } from "../../lib/database/database.ts";
import type { ReadWebhooks } from "./apply/sort-webhooks.ts";

/** Returns SQL for what replaces the message ID in `column`. No function depends on a setting, as Citus needs it. */
export const erasedMessageId = (column: string): string =>
  `'erased.' || encode(sha256(decode(replace(${column}, '\\', '\\\\'), 'escape')), 'hex')`;

const findErased = statement<{ erased_id: string }>(`
  select provider_message_id as erased_id from chat_replies
  where account_id = $1 and provider_message_id = any ($2::text[])`);

/**
 * Returns the webhooks without the replies of erased persons. All links of a webhook with such a reply are removed too,
 * as one of them may be the person's: the others were recorded when the reply was.
 */
export async function withoutErasedReplies(
  db: Executor,
  accountId: number,
  batch: readonly ReadWebhooks[],
): Promise<readonly ReadWebhooks[]> {
  const ids = new Map<string, string>();
  for (const event of batch.flatMap(({ events }) => events.flat()))
    if (event.kind === "reply")
      ids.set(erasedIdOf(event.provider_message_id), event.provider_message_id);
  if (ids.size === 0) return batch;
  const found = await findErased(db, [accountId, [...ids.keys()]]);
  if (found.length === 0) return batch;
  const erased = new Set(found.map(({ erased_id }) => ids.get(erased_id)));
  return batch.map(({ row, events }) => ({
    row,
    events: events.map((of) => {
      const kept = of.filter(
        (event) => event.kind !== "reply" || !erased.has(event.provider_message_id),
      );
      return kept.length === of.length ? of : kept.filter(({ kind }) => kind !== "link");
    }),
  }));
}

/** Computes what erasedMessageId does. */
function erasedIdOf(providerMessageId: string): string {
  return `erased.${createHash("sha256").update(providerMessageId).digest("hex")}`;
}
