// Receives providers' webhooks and stores them by number. apply-webhooks.ts applies them later, so
// that the provider is answered quickly.
import { webhookReaderOf, type ChatDriverName } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import { frozenAccount, unavailable } from "../../lib/errors.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { openInboxWriter, type RoutedPiece } from "./receive/inbox-writer.ts";
import { openChatRoutes, type ChatRoutes } from "./receive/route-cache.ts";
import { splitWebhook, type WebhookPiece } from "./receive/split-webhook.ts";

export type WebhookReceiver = {
  /**
   * Stores a webhook's body, whose signature is already verified. Resolves when every piece with a
   * known route is committed, for the account that has its provider ID then; other pieces are counted and dropped,
   * because the provider would repeat them for days. `only_account_id`: the signature proves events of this account only.
   * 503 when the database is unavailable, when too many pieces wait, and, once the others are stored, for a piece of a
   * frozen account.
   */
  take(driver: ChatDriverName, body: string, only_account_id?: number | null): Promise<void>;
};

/** Opens a receiver; `metrics` is given only in processes that expose metrics. */
export function openWebhookReceiver(
  app: App,
  metrics?: Pick<Metrics, "chatWebhooks">,
): WebhookReceiver {
  const routes = openChatRoutes(app);
  const inbox = openInboxWriter(app);
  const count = (outcome: "stored" | "unread" | "unknown" | "ignored", by = 1) =>
    metrics?.chatWebhooks.inc({ outcome }, by);

  /** Stores pieces, except those whose cached route has changed, which it returns, and those of a frozen account. */
  const storePieces = async (
    driver: ChatDriverName,
    pieces: readonly WebhookPiece[],
    only_account_id: number | null,
  ) => {
    const routed: RoutedPiece[] = [];
    let hasFrozen = false;
    const groups = await findRoutes(routes, driver, pieces, only_account_id);
    for (const { route, pieces: own } of groups) {
      const isOthers = only_account_id !== null && route?.account_id !== only_account_id;
      if (!route || isOthers) count("unknown", own.length);
      else if (route.frozen) hasFrozen = true;
      else routed.push(...own.map((piece) => ({ driver, route, piece })));
    }
    const rerouted: WebhookPiece[] = [];
    const stored = inbox.store(routed).map(async (answer, i) => {
      const { piece } = routed[i]!;
      const outcome = await answer;
      if (outcome === "rerouted") rerouted.push(piece);
      else if (outcome === "unstorable") count("ignored");
      else count(piece.unread ? "unread" : "stored");
    });
    await Promise.all(stored);
    return { rerouted, hasFrozen };
  };

  return {
    async take(driver, body, only_account_id = null) {
      const reader = webhookReaderOf(app.chatDrivers, driver);
      if (!reader) throw new Error(`a webhook came for ${driver}, which is not configured`);
      const { pieces, ignored } = splitWebhook(reader, body);
      if (ignored > 0) count("ignored", ignored);
      const first = await storePieces(driver, pieces, only_account_id);
      let { hasFrozen } = first;
      // The provider repeats the whole webhook after an error; what is stored twice is applied once.
      if (first.rerouted.length > 0) {
        routes.remove(driver, first.rerouted);
        const second = await storePieces(driver, first.rerouted, only_account_id);
        if (second.rerouted.length > 0)
          throw unavailable(new Error("the routes of a webhook changed while it was stored"));
        hasFrozen ||= second.hasFrozen;
      }
      if (hasFrozen) throw frozenAccount();
    },
  };
}

/** Returns the pieces by their routes; asks once for all, however many changes a body has. */
async function findRoutes(
  routes: ChatRoutes,
  driver: ChatDriverName,
  pieces: readonly WebhookPiece[],
  only_account_id: number | null,
) {
  const groups = Map.groupBy(pieces, ({ kind, provider_id }) => `${kind}:${provider_id}`);
  const by_id = [...groups.values()];
  const ids = by_id.map((own) => own[0]!);
  const found = await routes.find(driver, ids, only_account_id);
  return by_id.map((own, i) => ({ route: found[i] ?? null, pieces: own }));
}
