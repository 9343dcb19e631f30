import { addJob } from "../../engine/add-job.ts";
import type { ChatDriverName } from "../../drivers/chat/driver.ts";
import type { Tx } from "../../lib/database/database.ts";

/** A business account at a provider, which owns templates. */
export type BusinessAccount = {
  readonly account_id: number;
  readonly driver: ChatDriverName;
  readonly business_account_id: string;
};

/**
 * The delay of the sync of a template that campaigns wait for: webhooks may be lost, and the provider's list may be later
 * than its webhook.
 */
export const held_template_sync_ms = 600_000;

/** Schedules the sync of a business account's templates and numbers; the job reschedules itself daily. */
export async function scheduleTemplateSync(
  tx: Tx,
  { account_id, driver, business_account_id }: BusinessAccount,
  now: Date,
  run_at = now,
): Promise<void> {
  await addJob(
    tx,
    {
      account_id,
      kind: "chat.sync_templates",
      subject: `${driver}:${business_account_id}`,
      run_at,
      payload: { driver, business_account_id },
    },
    now,
  );
}
