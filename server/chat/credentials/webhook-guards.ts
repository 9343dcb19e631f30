// Caches the guards of accounts' own Meta apps for a few seconds: webhooks arrive often, and so do requests for
// accounts that have none.
import type { WebhookGuard } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";
import { credentialPlace } from "./internal/credential-place.ts";

export type WebhookGuards = {
  /** Returns the guard of the account's own Meta app; null if it has none. */
  find(account_id: number): Promise<WebhookGuard | null>;
};

const fresh_ms = 5_000;
const kept_max = 10_000;

export function openWebhookGuards(app: App): WebhookGuards {
  const kept = new Map<number, { until_ms: number; guard: WebhookGuard | null }>();
  return {
    async find(account_id) {
      const known = kept.get(account_id);
      if (known && known.until_ms > performance.now()) return known.guard;
      const guard = await readGuard(app, account_id);
      kept.delete(account_id);
      if (kept.size >= kept_max) kept.delete(kept.keys().next().value!);
      kept.set(account_id, { until_ms: performance.now() + fresh_ms, guard });
      return guard;
    },
  };
}

async function readGuard(app: App, account_id: number): Promise<WebhookGuard | null> {
  const [row] = await findApp(app.db.pool, [account_id]);
  const access = app.chatDrivers.whatsappAccess;
  if (!row || !access) return null;
  const open = (column: "app_secret" | "verify_token") =>
    app.secrets.open(credentialPlace(column, account_id), row[column]).toString();
  return access.guardWith({ app_secret: open("app_secret"), verify_token: open("verify_token") });
}

const findApp = statement<{ app_secret: string; verify_token: string }>(`
  select app_secret, verify_token from whatsapp_credentials
  where account_id = $1 and app_secret is not null`);
