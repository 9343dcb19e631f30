// Webhooks on their way into chat_inbox. While a statement of a number is under way, what arrives for
// it gathers and goes together when it is done: no timer, so an idle server adds no delay.
import type { App } from "../../../engine/app.ts";
import { statement } from "../../../lib/database/database.ts";
import { isDatabaseUnavailable } from "../../../lib/database/database-errors.ts";
import { unavailable } from "../../../lib/errors.ts";
import type { ChatRoute } from "./route-cache.ts";
import type { WebhookPiece } from "./split-webhook.ts";

export type InboxWriter = {
  /**
   * Resolves true when the piece is committed, false when PostgreSQL cannot hold it; 503 when the
   * database is away or too much waits.
   */
  store(driver: string, route: ChatRoute, piece: WebhookPiece): Promise<boolean>;
};

type Waiting = {
  readonly piece: WebhookPiece;
  readonly resolve: (stored: boolean) => void;
  readonly reject: (error: unknown) => void;
};

/** What waits for one number. */
type Queue = { readonly driver: string; readonly route: ChatRoute; readonly waiting: Waiting[] };

/** Numbers that are written for at once; one statement at a time for each. */
const lanes_max = 4;
const batch_pieces_max = 500;
const batch_characters_max = 1_000_000;
const waiting_pieces_max = 5_000;
const waiting_characters_max = 64_000_000;

export function openInboxWriter(app: App): InboxWriter {
  // Insertion order is the numbers' turn: one that was served goes to the end.
  const queues = new Map<string, Queue>();
  const busy = new Set<string>();
  let lanes = 0;
  let pieces = 0;
  let characters = 0;

  const next = (): [string, Queue] | null => {
    for (const [key, queue] of queues) {
      if (busy.has(key)) continue;
      busy.add(key);
      queues.delete(key);
      const waiting = queue.waiting.splice(0, batchLength(queue.waiting));
      if (queue.waiting.length > 0) queues.set(key, queue);
      pieces -= waiting.length;
      for (const { piece } of waiting) characters -= piece.body.length;
      return [key, { ...queue, waiting }];
    }
    return null;
  };

  const runLane = async () => {
    let turn = next();
    while (turn) {
      const [key, batch] = turn;
      const tell = await storeBatch(app, batch);
      busy.delete(key);
      turn = next();
      // The next batch leaves before the answers of this one are rendered.
      if (turn) setImmediate(tell);
      else tell();
    }
    lanes--;
  };

  return {
    store(driver, route, piece) {
      if (pieces >= waiting_pieces_max || characters >= waiting_characters_max)
        return Promise.reject(unavailable(new Error("too many webhooks wait for the database")));
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      const key = `${driver}:${route.account_id}:${route.chat_number_id}`;
      const queue = queues.get(key) ?? { driver, route, waiting: [] };
      queue.waiting.push({ piece, resolve, reject });
      queues.set(key, queue);
      pieces++;
      characters += piece.body.length;
      if (lanes < lanes_max && !busy.has(key)) {
        lanes++;
        // After this turn of the event loop: webhooks that arrived together go together.
        setImmediate(() => void runLane());
      }
      return promise;
    },
  };
}

/** As many as one statement takes, and at least one. */
function batchLength(waiting: readonly Waiting[]): number {
  let characters = 0;
  const end = waiting.findIndex(({ piece }, i) => {
    characters += piece.body.length;
    return i > 0 && (i >= batch_pieces_max || characters > batch_characters_max);
  });
  return end < 0 ? waiting.length : end;
}

/** Stores a batch and returns what tells its callers. */
async function storeBatch(app: App, { driver, route, waiting }: Queue): Promise<() => void> {
  const { account_id, chat_number_id } = route;
  try {
    const statuses = waiting.flatMap(({ piece }) => (piece.urgent ? [] : piece.body));
    const urgent = waiting.flatMap(({ piece }) => (piece.urgent ? `[${piece.body}]` : []));
    await insertRows(app.db.pool, [
      account_id,
      chat_number_id,
      driver,
      app.clock.now(),
      statuses.length > 0 ? `[${statuses.join(",")}]` : null,
      urgent,
    ]);
    app.notifications.send("chat_report", `${account_id}:${chat_number_id}`);
    return () => {
      for (const { resolve } of waiting) resolve(true);
    };
  } catch (error) {
    const reason = isDatabaseUnavailable(error) ? unavailable(error) : error;
    if (reason !== error || (waiting.length === 1 && !isUnstorable(error)))
      return () => {
        for (const { reject } of waiting) reject(reason);
      };
    if (waiting.length === 1) return () => waiting[0]!.resolve(false);
    // One bad webhook must not fail its neighbours.
    for (const one of waiting) (await storeBatch(app, { driver, route, waiting: [one] }))();
    return () => {};
  }
}

/** What PostgreSQL says of text that is no JSON to it, or is nested too deeply. */
function isUnstorable(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && (code.startsWith("22") || code.startsWith("54"));
}

// Statuses that came together are one row: 8 us of PostgreSQL's time a webhook, 15 with a row each.
const insertRows = statement(`
  insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
  select $1::bigint, $2::bigint, $3::text, $5::text::json, $4::timestamptz, $4::timestamptz
  where $5::text is not null
  union all
  select $1, $2, $3, u.body::json, $4, '-infinity' from unnest($6::text[]) u (body)`);
