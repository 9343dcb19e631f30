import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { addJob } from "../../engine/add-job.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, type FieldError } from "../../lib/errors.ts";
import { parseTimeOrDay } from "../../lib/parse-time.ts";
import { lockReplayedEndpoint } from "./internal/lock-replayed-endpoint.ts";
import type { NewReplay, ReplayResponse } from "./replay-schema.ts";
import { replayResponse } from "./replays.ts";

/** Returns the violations that the schema cannot detect in a replay. The body may have any shape. */
export function validateReplay(body: unknown, timeZone: string, now: Date): FieldError[] {
  const { from, to } = (body ?? {}) as Record<string, unknown>;
  const violations: FieldError[] = [];
  const read = (field: string, text: unknown): Date | undefined => {
    const at = typeof text === "string" ? parseTimeOrDay(text, timeZone) : undefined;
    if (typeof at !== "string") return at;
    violations.push({ field, reason: at });
    return undefined;
  };
  const [begin, end] = [read("from", from), read("to", to)];
  if (begin && begin >= now) violations.push({ field: "from", reason: "must be in the past" });
  if (begin && end && begin >= end) violations.push({ field: "to", reason: "must be after from" });
  return violations;
}

/**
 * Starts a replay of a time range's events to an endpoint by the job callbacks.replay; the caller sends the
 * notification `job` after the commit. The body is validated before. Refuses: not-found; conflict when the
 * endpoint is disabled or a replay to it is in progress.
 */
export async function replayRange(
  tx: Tx,
  actor: Actor,
  endpoint_id: number,
  { body, timeZone }: { body: NewReplay; timeZone: string },
  now: Date,
): Promise<ReplayResponse> {
  const { account_id } = actor;
  await lockReplayedEndpoint(tx, account_id, endpoint_id);
  await refuseSecond(tx, account_id, endpoint_id);
  const from_at = parseTimeOrDay(body.from, timeZone) as Date;
  const requested_to = parseTimeOrDay(body.to ?? "", timeZone);
  const row = await tx
    .insertInto("callback_replays")
    .values({
      account_id,
      endpoint_id,
      from_at,
      to_at: requested_to instanceof Date && requested_to < now ? requested_to : now,
      include: body.include ?? "undelivered",
      reached_at: from_at,
      created_by: actor.user_id,
      created_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const replay = replayResponse(row);
  const subject = String(replay.id);
  await addJob(tx, { account_id, kind: "callbacks.replay", subject, run_at: now }, now);
  const { from, to, include } = replay;
  await recordAudit(tx, actor, {
    at: now,
    action: "callback_endpoint.replayed",
    subject_id: endpoint_id,
    detail: { from, to, include },
  });
  return replay;
}

async function refuseSecond(tx: Tx, account_id: number, endpoint_id: number): Promise<void> {
  const replay = await tx
    .selectFrom("callback_replays")
    .select("id")
    .where("account_id", "=", account_id)
    .where("endpoint_id", "=", endpoint_id)
    .where("state", "=", "processing")
    .executeTakeFirst();
  if (replay)
    throw new Refusal("conflict", `Replay ${replay.id} to this endpoint is still in progress`);
}
