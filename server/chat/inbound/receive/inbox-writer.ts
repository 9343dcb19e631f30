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

/** Committed, not storable by PostgreSQL, or not stored, because the provider ID has another route than the piece. */
export type Stored = "stored" | "unstorable" | "rerouted";

export type InboxWriter = {
  /**
   * Each resolves when the piece is committed or cannot be; 503 when the database is
   * unavailable, or at once, for all pieces of an account, when too many waited before them. Their own number does not
   * count: a body that is repeated would be refused again.
   */
  store(pieces: readonly RoutedPiece[]): Promise<Stored>[];
};

/** By provider ID: one statement at a time for each. */
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

/** Opens the group commit of webhooks, by provider ID. */
export function openInboxWriter(app: App): InboxWriter {
  const pieces = openGroupCommit<string, RoutedPiece, Stored>({
    name: "webhooks",
    limits,
    lengthOf: ({ piece }) => piece.body.length,
    groupOf: ({ route }) => route.account_id,
    async write(_number, batch) {
      const stored = await insertPieces(app, batch);
      return batch.map(() => stored);
    },
    async writeAlone(_number, item) {
      try {
        return await insertPieces(app, [item]);
      } catch (error) {
        if (isUnstorable(error)) return "unstorable";
        throw error;
      }
    },
  });
  return {
    store: (routed) =>
      pieces.commitAll(
        routed.map((one) => {
          const { driver, route, piece } = one;
          const { account_id, chat_number_id } = route;
          const id = `${piece.kind}:${piece.provider_id}`;
          return [`${driver}:${account_id}:${chat_number_id}:${id}`, one] as const;
        }),
      ),
  };
}

/** Stores pieces of one provider ID and notifies the applier, unless the ID has another route now. */
async function insertPieces(app: App, items: readonly RoutedPiece[]): Promise<Stored> {
  const { driver, route, piece: first } = items[0]!;
  const { account_id, chat_number_id } = route;
  const statuses = items.flatMap(({ piece }) => (piece.urgent ? [] : piece.body));
  const urgent = items.flatMap(({ piece }) => (piece.urgent ? `[${piece.body}]` : []));
  const inserted = await insertRows(app.db.pool, [
    account_id,
    chat_number_id,
    driver,
    app.clock.now(),
    statuses.length > 0 ? `[${statuses.join(",")}]` : null,
    urgent,
    first.kind,
    first.provider_id,
  ]);
  if (inserted.length === 0) return "rerouted";
  app.notifications.send("chat_inbound", `${account_id}:${chat_number_id}`);
  return "stored";
}

/** Returns whether PostgreSQL rejects the text as invalid or too deeply nested JSON. */
function isUnstorable(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && (code.startsWith("22") || code.startsWith("54"));
}

// Statuses that arrive together share a row: 8 us of PostgreSQL's time per webhook, not 15. A cached route may have
// changed since: what is stored belongs to the account that has the provider ID when the statement begins.
const insertRows = statement<{ id: number }>(`
  insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
  select $1::bigint, $2::bigint, $3::text, n.body, $4::timestamptz, n.due_at
  from chat_routes r
  cross join (
    select $5::text::json as body, $4::timestamptz as due_at where $5::text is not null
    union all
    select u.body::json, '-infinity' from unnest($6::text[]) u (body)) n
  where r.driver = $3 and r.kind = $7 and r.provider_id = $8
    and r.account_id = $1 and coalesce(r.chat_number_id, 0) = $2
  returning id`);
