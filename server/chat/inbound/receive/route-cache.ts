// Caches webhook routes for a few seconds. A provider ID without a route is looked up for each of its webhooks, so that
// a number receives from the moment it is registered, whichever process registered it.
import type { ChatDriverName } from "../../../drivers/chat/driver.ts";
import { isFrozen } from "../../../accounts/accounts/is-frozen.ts";
import type { App } from "../../../engine/app.ts";
import { statement } from "../../../lib/database/database.ts";
import type { WebhookPiece } from "./split-webhook.ts";

export type ChatRoute = {
  readonly account_id: number;
  /** 0 for a business account. */
  readonly chat_number_id: number;
  /** The account is frozen: its webhooks are refused, so that the provider repeats them. */
  readonly frozen: boolean;
};

export type ChatRoutes = {
  /** Returns the route of a piece; null when its provider ID is unknown. */
  find(driver: ChatDriverName, piece: WebhookPiece): Promise<ChatRoute | null>;
};

const fresh_ms = 5_000;
const kept_max = 10_000;

type Kept = { readonly until_ms: number; readonly route: ChatRoute };

export function openChatRoutes(app: App): ChatRoutes {
  const kept = new Map<string, Kept>();
  /** When each unknown ID is logged again. */
  const logged = new Map<string, number>();

  return {
    async find(driver, { kind, provider_id }) {
      const key = `${driver}:${kind}:${provider_id}`;
      const now_ms = performance.now();
      const known = kept.get(key);
      if (known && known.until_ms > now_ms) return known.route;
      const [found] = await findRoute(app.db.pool, [driver, kind, provider_id]);
      if (found) {
        const route = { ...found, frozen: await isFrozen(app.db.pool, found.account_id) };
        keep(kept, key, { until_ms: now_ms + fresh_ms, route });
        return route;
      }
      kept.delete(key);
      if ((logged.get(key) ?? 0) > now_ms) return null;
      keep(logged, key, now_ms + fresh_ms);
      app.log.warn(
        `webhooks come for a ${kind} of ${driver} that is not ours: ${provider_id.slice(0, 64)}`,
      );
      return null;
    },
  };
}

/** Sets a key of a map that drops its oldest key when it is full. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  if (map.size >= kept_max) map.delete(map.keys().next().value!);
  map.set(key, value);
}

const findRoute = statement<Omit<ChatRoute, "frozen">>(`
  select account_id, coalesce(chat_number_id, 0) as chat_number_id from chat_routes
  where driver = $1 and kind = $2 and provider_id = $3`);
