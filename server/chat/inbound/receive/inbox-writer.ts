// Stores webhooks in chat_inbox in batches, by group commit.
import type { App } from "../../../engine/app.ts";
import { openGroupCommit, type GroupCommitLimits } from "../../../engine/group-commit.ts";
import { statement } from "../../../lib/database/database.ts";
import type { ChatRoute } from "./route-cache.ts";
import type { WebhookPiece } from "./split-webhook.ts";

export type InboxWriter = {
  /**
   * Resolves true when the piece is committed, false when PostgreSQL cannot hold it; 503 when the
   * database is unavailable or too many pieces wait.
   */
  store(driver: string, route: ChatRoute, piece: WebhookPiece): Promise<boolean>;
};

/** A piece and the number it is stored for. */
type Item = {
  readonly driver: string;
  readonly route: ChatRoute;
  readonly piece: WebhookPiece;
};

/** By number: one statement at a time for each. */
const limits = {
  lanes: 4,
  batch_items: 500,
  batch_characters: 1_000_000,
  waiting_items: 5_000,
  waiting_characters: 64_000_000,
} as const satisfies GroupCommitLimits;

/** Opens the group commit of webhooks, by number. */
export function openInboxWriter(app: App): InboxWriter {
  const pieces = openGroupCommit<string, Item, boolean>({
    name: "webhooks",
    limits,
    lengthOf: ({ piece }) => piece.body.length,
    async write(_number, batch) {
      await insertPieces(app, batch);
      return batch.map(() => true);
    },
    async writeAlone(_number, item) {
      try {
        await insertPieces(app, [item]);
        return true;
      } catch (error) {
        if (isUnstorable(error)) return false;
        throw error;
      }
    },
  });
  return {
    store: (driver, route, piece) =>
      pieces.commit(`${driver}:${route.account_id}:${route.chat_number_id}`, {
        driver,
        route,
        piece,
      }),
  };
}

/** Stores pieces of one number and notifies its applier. */
async function insertPieces(app: App, items: readonly Item[]): Promise<void> {
  const { driver, route } = items[0]!;
  const { account_id, chat_number_id } = route;
  const statuses = items.flatMap(({ piece }) => (piece.urgent ? [] : piece.body));
  const urgent = items.flatMap(({ piece }) => (piece.urgent ? `[${piece.body}]` : []));
  await insertRows(app.db.pool, [
    account_id,
    chat_number_id,
    driver,
    app.clock.now(),
    statuses.length > 0 ? `[${statuses.join(",")}]` : null,
    urgent,
  ]);
  app.notifications.send("chat_inbound", `${account_id}:${chat_number_id}`);
}

/** Returns whether PostgreSQL rejects the text as invalid or too deeply nested JSON. */
function isUnstorable(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && (code.startsWith("22") || code.startsWith("54"));
}

// Statuses that arrive together share a row: 8 us of PostgreSQL's time per webhook, not 15.
const insertRows = statement(`
  insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
  select $1::bigint, $2::bigint, $3::text, $5::text::json, $4::timestamptz, $4::timestamptz
  where $5::text is not null
  union all
  select $1, $2, $3, u.body::json, $4, '-infinity' from unnest($6::text[]) u (body)`);
