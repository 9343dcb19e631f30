// Where providers' webhooks come in: sorted by number and stored. Nothing is acted on here
// (apply-reports.ts does, at its own pace), so that the provider is answered quickly.
import type { ChatDriverName } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { openInboxWriter } from "./receive/inbox-writer.ts";
import { openChatRoutes } from "./receive/route-cache.ts";
import { splitWebhook } from "./receive/split-webhook.ts";

export type WebhookReceiver = {
  /**
   * Takes a webhook's body, JSON text that is known to be the provider's own. Resolves when all of it
   * that is ours is committed; what is not ours, or of no known form, is counted and let go, since
   * the provider would send it again for days. 503 when the database is away or too much waits.
   */
  take(driver: ChatDriverName, body: string): Promise<void>;
};

/** Opens a receiver; `metrics` only where a process shows them. */
export function openWebhookReceiver(
  app: App,
  metrics?: Pick<Metrics, "chatWebhooks">,
): WebhookReceiver {
  const routes = openChatRoutes(app);
  const inbox = openInboxWriter(app);
  const count = (outcome: "stored" | "unknown" | "ignored", by = 1) =>
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
        count((await inbox.store(driver, route, piece)) ? "stored" : "ignored");
      });
      await Promise.all(stored);
    },
  };
}
