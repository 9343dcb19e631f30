import { recordAudit, type Actor } from "../accounts/record-audit.ts";
import { addJob } from "../engine/add-job.ts";
import type { Tx } from "../lib/database.ts";
import { Refusal, type FieldError } from "../lib/errors.ts";
import { parseTime } from "../lib/parse-time.ts";
import type { NewReplay, ReplayAnswer } from "./delivery-schema.ts";
import { lockReplayedEndpoint } from "./lock-replayed-endpoint.ts";
import { firstStep } from "./replay-events.ts";

/** What a schema cannot see of a replay. The body may have any shape. */
export function judgeReplay(body: unknown, timeZone: string, now: Date): FieldError[] {
  const { from, to } = (body ?? {}) as Record<string, unknown>;
  const faults: FieldError[] = [];
  const read = (field: string, text: unknown): Date | undefined => {
    const at = typeof text === "string" ? parseTime(text, timeZone) : undefined;
    if (typeof at !== "string") return at;
    faults.push({ field, reason: at });
    return undefined;
  };
  const [begin, end] = [read("from", from), read("to", to)];
  if (begin && begin >= now) faults.push({ field: "from", reason: "must be in the past" });
  if (begin && end && begin >= end) faults.push({ field: "to", reason: "must be after from" });
  return faults;
}

/**
 * Has the endpoint told again of what happened in a time, by the job callbacks.replay: hint `job` after
 * the commit. The body is one that judgeReplay has no fault with. Refuses: not-found; conflict when the
 * endpoint is disabled, or has a replay under way.
 */
export async function replayRange(
  tx: Tx,
  actor: Actor,
  endpointId: number,
  { body, timeZone }: { body: NewReplay; timeZone: string },
  now: Date,
): Promise<ReplayAnswer> {
  const { account_id } = actor;
  await lockReplayedEndpoint(tx, account_id, endpointId);
  const job = { account_id, kind: "callbacks.replay", subject: String(endpointId) } as const;
  const underWay = await tx
    .selectFrom("jobs")
    .select("id")
    .where("account_id", "=", account_id)
    .where("kind", "=", job.kind)
    .where("subject", "=", job.subject)
    .executeTakeFirst();
  if (underWay) throw new Refusal("conflict", "A replay to this endpoint is under way already");
  const asked = parseTime(body.to ?? "", timeZone);
  const range = {
    from: (parseTime(body.from, timeZone) as Date).toISOString(),
    to: (asked instanceof Date && asked < now ? asked : now).toISOString(),
    include: body.include ?? "undelivered",
  } as const;
  await addJob(tx, { ...job, run_at: now, payload: firstStep(range) }, now);
  await recordAudit(tx, actor, {
    at: now,
    action: "callback_endpoint.replayed",
    subject_id: endpointId,
    detail: range,
  });
  return { endpoint_id: endpointId, ...range };
}
