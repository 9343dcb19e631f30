// Caches webhook routes for a few seconds, including provider IDs without a route.
import type { ChatDriverName } from "../../../drivers/chat/driver.ts";
import type { App } from "../../../engine/app.ts";
import { statement } from "../../../lib/database/database.ts";
import type { WebhookPiece } from "./split-webhook.ts";

/** `chat_number_id` is 0 for a business account. */
export type ChatRoute = { readonly account_id: number; readonly chat_number_id: number };

export type ChatRoutes = {
  /** Returns the route of a piece; null when its provider ID is unknown. */
  find(driver: ChatDriverName, piece: WebhookPiece): Promise<ChatRoute | null>;
};

const fresh_ms = 5_000;
const kept_max = 10_000;

type Kept = { readonly until_ms: number; readonly route: Promise<ChatRoute | null> };

export function openChatRoutes(app: App): ChatRoutes {
  const kept = new Map<string, Kept>();

  const look = async (driver: ChatDriverName, { kind, provider_id }: WebhookPiece) => {
    const [route] = await findRoute(app.db.pool, [driver, kind, provider_id]);
    if (!route)
      // Logged once per cache refresh, not once per webhook.
      app.log.warn(
        `webhooks come for a ${kind} of ${driver} that is not ours: ${provider_id.slice(0, 64)}`,
      );
    return route ?? null;
  };

  return {
    find(driver, piece) {
      const key = `${driver}:${piece.kind}:${piece.provider_id}`;
      const now_ms = performance.now();
      const known = kept.get(key);
      if (known && known.until_ms > now_ms) return known.route;
      kept.delete(key);
      if (kept.size >= kept_max) kept.delete(kept.keys().next().value!);
      const entry = { until_ms: now_ms + fresh_ms, route: look(driver, piece) };
      kept.set(key, entry);
      entry.route.catch(() => {
        if (kept.get(key) === entry) kept.delete(key);
      });
      return entry.route;
    },
  };
}

const findRoute = statement<ChatRoute>(`
  select account_id, coalesce(chat_number_id, 0) as chat_number_id from chat_routes
  where driver = $1 and kind = $2 and provider_id = $3`);
