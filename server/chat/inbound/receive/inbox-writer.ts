// Stores webhooks in chat_inbox in batches, by group commit.
import type { App } from "../../../engine/app.ts";
import { openGroupCommit, type GroupCommitLimits } from "../../../engine/group-commit.ts";
import { statement } from "../../../lib/database/database.ts";
import type { ChatRoute } from "./route-cache.ts";
import type { WebhookPiece } from "./split-webhook.ts";

/** A piece and the number it is stored for. */
export type RoutedPiece = {
  readonly driver: string;
  readonly route: ChatRoute;
  readonly piece: WebhookPiece;
};

export type InboxWriter = {
  /**
   * Each resolves true when the piece is committed, false when PostgreSQL cannot hold it; 503 when the database is
   * unavailable, or at once, for all pieces of an account, when too many waited before them. Their own number does not
   * count: a body that is repeated would be refused again.
   */
  store(pieces: readonly RoutedPiece[]): Promise<boolean>[];
};

/** By number: one statement at a time for each. */
const limits = {
  lanes: 4,
  batch_items: 500,
  batch_characters: 1_000_000,
  // More than one account can fill, also by a body of 3 MB with the shortest changes.
  waiting_items: 50_000,
  waiting_characters: 64_000_000,
  // An account is a group.
  group_waiting_items: 5_000,
  group_waiting_characters: 16_000_000,
} as const satisfies GroupCommitLimits;

/** Opens the group commit of webhooks, by number. */
export function openInboxWriter(app: App): InboxWriter {
  const pieces = openGroupCommit<string, RoutedPiece, boolean>({
    name: "webhooks",
    limits,
    lengthOf: ({ piece }) => piece.body.length,
    groupOf: ({ route }) => route.account_id,
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
    store: (routed) =>
      pieces.commitAll(
        routed.map((one) => {
          const { driver, route } = one;
          return [`${driver}:${route.account_id}:${route.chat_number_id}`, one] as const;
        }),
      ),
  };
}

/** Stores pieces of one number and notifies its applier. */
async function insertPieces(app: App, items: readonly RoutedPiece[]): Promise<void> {
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
