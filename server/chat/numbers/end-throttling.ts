import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { liftHold } from "../holds/holds.ts";
import { wakeSenders } from "./wake-senders.ts";

/** Runs the job chat.end_throttling: lifts the hold of a throttled number at its end. */
export async function endThrottling(
  app: App,
  { account_id, subject }: Pick<Job, "account_id" | "subject">,
): Promise<{ again_at: Date } | void> {
  const now = app.clock.now();
  const held = {
    account_id,
    scope: "number",
    subject_id: Number(subject),
    reason: "throttled",
  } as const;
  const { ends_at, number_ids } = await app.db.query.transaction().execute(async (tx) => {
    // Locked, as by a campaign that begins: it finds no hold, or is resumed.
    await tx
      .selectFrom("chat_numbers")
      .select("id")
      .where("account_id", "=", account_id)
      .where("id", "=", held.subject_id)
      .forNoKeyUpdate()
      .execute();
    const lifted = await liftHold(tx, { ...held, until: now }, now);
    // Throttled again since the job was scheduled.
    const found = await tx
      .selectFrom("chat_holds")
      .select("ends_at")
      .where("account_id", "=", account_id)
      .where("scope", "=", held.scope)
      .where("subject_id", "=", held.subject_id)
      .where("reason", "=", held.reason)
      .executeTakeFirst();
    return { ends_at: found?.ends_at ?? null, number_ids: lifted.number_ids };
  });
  if (ends_at) return { again_at: ends_at };
  wakeSenders(app, account_id, number_ids);
}
