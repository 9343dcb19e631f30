// Caches webhook routes for a few seconds; what stores a webhook checks its route again. A provider ID without a route is
// looked up for each of its webhooks, so that a number receives from the moment it is registered, whichever process
// registered it. Whoever signs a webhook can name tens of thousands of IDs in it, so one statement looks them all up.
import { LRUCache } from "lru-cache";
import type { ChatDriverName } from "../../../drivers/chat/driver.ts";
import { isFrozen } from "../../../accounts/accounts/is-frozen.ts";
import type { App } from "../../../engine/app.ts";
import type { Log } from "../../../lib/log.ts";
import type { WebhookPiece } from "./split-webhook.ts";

export type ChatRoute = {
  readonly account_id: number;
  /** 0 for a business account. */
  readonly chat_number_id: number;
  /** The account is frozen: its webhooks are refused, so that the provider repeats them. */
  readonly frozen: boolean;
};

/** What a webhook is routed by. */
type RoutedId = Pick<WebhookPiece, "kind" | "provider_id">;

export type ChatRoutes = {
  /**
   * Returns the routes of provider IDs in their order, null for an unknown one; one statement for all that are not
   * cached. With `only_account_id`, an ID of another account may count as unknown.
   */
  find(
    driver: ChatDriverName,
    ids: readonly RoutedId[],
    only_account_id: number | null,
  ): Promise<(ChatRoute | null)[]>;
  /** Removes provider IDs whose routes have changed. */
  remove(driver: ChatDriverName, ids: readonly RoutedId[]): void;
};

const fresh_ms = 5_000;
const kept_max = 10_000;

type Kept = { readonly until_ms: number; readonly route: ChatRoute };

export function openChatRoutes(app: App): ChatRoutes {
  const kept = new LRUCache<string, Kept>({ max: kept_max });
  const warnOfUnknown = openUnknownWarning(app.log);

  return {
    async find(driver, ids, only_account_id) {
      const now_ms = performance.now();
      const routes = new Map<string, ChatRoute>();
      const wanted = ids.filter((id) => {
        const known = kept.get(keyOf(driver, id));
        const is_fresh = known !== undefined && known.until_ms > now_ms;
        if (is_fresh) routes.set(keyOf(driver, id), known.route);
        return !is_fresh;
      });
      if (wanted.length > 0)
        for (const [key, route] of await readRoutes(app, driver, wanted, only_account_id)) {
          routes.set(key, route);
          kept.set(key, { until_ms: now_ms + fresh_ms, route });
        }
      const unknown = wanted.filter((id) => !routes.has(keyOf(driver, id)));
      for (const id of unknown) kept.delete(keyOf(driver, id));
      warnOfUnknown(driver, unknown, now_ms);
      return ids.map((id) => routes.get(keyOf(driver, id)) ?? null);
    },
    remove(driver, ids) {
      for (const id of ids) kept.delete(keyOf(driver, id));
    },
  };
}

const keyOf = (driver: ChatDriverName, { kind, provider_id }: RoutedId): string =>
  `${driver}:${kind}:${provider_id}`;

async function readRoutes(
  app: App,
  driver: ChatDriverName,
  ids: readonly RoutedId[],
  only_account_id: number | null,
): Promise<Map<string, ChatRoute>> {
  const kinds = ids.map(({ kind }) => kind);
  const provider_ids = ids.map(({ provider_id }) => provider_id);
  const { rows } = await app.db.pool.query<Row>({
    // Unnamed, so planned for these IDs: a plan for any number of them read 2,000 routes for each of 50,000 (10 s, not 0.4).
    text: routes_sql,
    values: [driver, kinds, provider_ids, only_account_id],
  });
  const frozen = new Map<number, boolean>();
  for (const account_id of new Set(rows.map((row) => row.account_id)))
    frozen.set(account_id, await isFrozen(app.db.pool, account_id));
  return new Map(
    rows.map(({ account_id, chat_number_id, ...id }) => [
      keyOf(driver, id),
      { account_id, chat_number_id, frozen: frozen.get(account_id)! },
    ]),
  );
}

/** Returns a function that logs the unknown IDs of a webhook in one line, and each ID once in a few seconds. */
function openUnknownWarning(log: Log) {
  /** When each is logged again. */
  const logged = new LRUCache<string, number>({ max: kept_max });
  return (driver: ChatDriverName, unknown: readonly RoutedId[], now_ms: number): void => {
    const due = unknown.filter((id) => (logged.get(keyOf(driver, id)) ?? 0) <= now_ms);
    const [first] = due;
    if (!first) return;
    for (const id of due) logged.set(keyOf(driver, id), now_ms + fresh_ms);
    const example = `${first.kind} ${first.provider_id.slice(0, 64)}`;
    log.warn(
      { count: due.length },
      `dropped events of a webhook for unknown provider IDs of ${driver}; the first is ${example}`,
    );
  };
}

type Row = RoutedId & Omit<ChatRoute, "frozen">;

const routes_sql = `
  select r.kind, r.provider_id, r.account_id, coalesce(r.chat_number_id, 0) as chat_number_id
  from unnest($2::text[], $3::text[]) asked (kind, provider_id)
  join chat_routes r on r.driver = $1 and r.kind = asked.kind and r.provider_id = asked.provider_id
  where $4::bigint is null or r.account_id = $4`;
