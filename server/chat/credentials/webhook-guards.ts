// Caches the guards of accounts' own Meta apps for a few seconds: webhooks arrive often, and so do requests for
// accounts that have none.
import { LRUCache } from "lru-cache";
import type { WebhookGuard } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import { addressGroup } from "../../lib/addresses/address-group.ts";
import { statement } from "../../lib/database/database.ts";
import { openStrangerLookups } from "../../lib/addresses/stranger-lookups.ts";
import { credentialPlace } from "./internal/credential-place.ts";

export type WebhookGuards = {
  /**
   * Returns the guard of the account's own Meta app; null if it has none. 503 when too many accounts without a cached
   * guard wait to be looked up, in all or from the sender's address.
   */
  find(account_id: number, address: () => string): Promise<WebhookGuard | null>;
};

const fresh_ms = 5_000;
const kept_max = 10_000;

type Kept<Guard> = { readonly read_at_ms: number; readonly guard: Guard };

export function openWebhookGuards(app: App): WebhookGuards {
  const guards = new LRUCache<number, Kept<WebhookGuard>>({ max: kept_max });
  // Apart, so that requests for accounts without a guard push none out.
  const missing = new LRUCache<number, Kept<null>>({ max: kept_max });
  const lookUp = openStrangerLookups("accounts of webhooks");
  return {
    async find(account_id, address) {
      const known = guards.get(account_id) ?? missing.get(account_id);
      if (known && performance.now() - known.read_at_ms < fresh_ms) return known.guard;
      const read_at_ms = performance.now();
      const read = () => readGuard(app, account_id);
      // An outdated guard is read again at once: Meta's webhooks do not wait behind strangers.
      const guard = await (known?.guard ? read() : lookUp(addressGroup(address()), read));
      guards.delete(account_id);
      missing.delete(account_id);
      if (guard) guards.set(account_id, { read_at_ms, guard });
      else missing.set(account_id, { read_at_ms, guard });
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
