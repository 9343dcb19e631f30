// Receives providers' webhooks and stores them by number. apply-webhooks.ts applies them later, so
// that the provider is answered quickly.
import type { ChatDriverName } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { openInboxWriter } from "./receive/inbox-writer.ts";
import { openChatRoutes } from "./receive/route-cache.ts";
import { splitWebhook } from "./receive/split-webhook.ts";

export type WebhookReceiver = {
  /**
   * Stores a webhook's body, whose signature is already verified. Resolves when every piece with a
   * known route is committed; other pieces are counted and dropped, because the provider would
   * repeat them for days. 503 when the database is unavailable or too many pieces wait.
   */
  take(driver: ChatDriverName, body: string): Promise<void>;
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

  return {
    async take(driver, body) {
      const reader = app.chatDrivers[driver];
      if (!reader) throw new Error(`a webhook came for ${driver}, which is not configured`);
      const { pieces, ignored } = splitWebhook(reader, body);
      if (ignored > 0) count("ignored", ignored);
      const stored = pieces.map(async (piece) => {
        const route = await routes.find(driver, piece);
        if (!route) return count("unknown");
        if (!(await inbox.store(driver, route, piece))) return count("ignored");
        count(piece.unread ? "unread" : "stored");
      });
      await Promise.all(stored);
    },
  };
}
