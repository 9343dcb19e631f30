// Erases a person's data: part by part, in small steps. Each step and the progress are one transaction, so that
// an erasure continues where it was after a crash and counts nothing twice.
import { recordAudit } from "../accounts/audit/record-audit.ts";
import type { App } from "../engine/app.ts";
import { checkJob, type Job } from "../engine/work-jobs.ts";
import type { Tx } from "../lib/database/database.ts";
import { eraseResponses } from "./erase/responses.ts";
import { eraseCalls } from "./erase/calls.ts";
import { awaitChatRecipients, scanChatRecipients } from "./erase/chat-recipients.ts";
import { eraseGroupMembers, eraseJobs, eraseReplies } from "./erase/found-by-index.ts";
import { eraseEvents } from "./erase/events.ts";
import type { Part, Progress, Step } from "./erase/part.ts";
import { erasePeople } from "./erase/people.ts";
import { readPerson } from "./erase/person.ts";
import { eraseRecordings, later_parts } from "./erase/recordings.ts";
import { eraseImportRejects, eraseImportRows, eraseVoiceRejects } from "./erase/uploads.ts";
import { awaitVoiceRecipients, scanVoiceRecipients } from "./erase/voice-recipients.ts";
import { erased_kinds, type ErasedKind } from "./erasure-schema.ts";
import type { ErasureRow } from "./erasures.ts";

/**
 * The order is fixed: stored erasures refer to a part by its index. Pending messages and calls come first;
 * calls and their jobs come before leads, because they can create leads; events come after the parts that record events;
 * recordings come last but for what was added later, because their nodes may not respond: before they wait, they
 * execute the parts after them.
 */
const parts: readonly Part[] = [
  scanChatRecipients,
  scanVoiceRecipients,
  eraseImportRows,
  awaitVoiceRecipients,
  eraseCalls,
  eraseJobs,
  erasePeople,
  eraseGroupMembers,
  eraseImportRejects,
  eraseVoiceRejects,
  eraseResponses,
  awaitChatRecipients,
  eraseReplies,
  eraseEvents,
  eraseRecordings,
  ...later_parts,
];

/** After this time the job yields to other jobs. */
const run_ms_max = 5_000;

/**
 * The job retention.erase_person of one erasure. When stopped, or after `ms_max`, it continues in its next run;
 * while a message or call to the person is in progress, it runs again later.
 */
export async function erasePerson(
  app: App,
  job: Job,
  stopping: AbortSignal,
  ms_max = run_ms_max,
): Promise<{ again_at: Date } | void> {
  const until_ms = performance.now() + ms_max;
  for (;;) {
    const erasure = await findPending(app, job);
    if (!erasure) return;
    if (stopping.aborted || performance.now() > until_ms) return { again_at: app.clock.now() };
    const progress = erasure.progress as Progress;
    const part = parts[progress.part];
    if (!part) return finish(app, job, erasure);
    const person = await readPerson(app, erasure);
    const write = (effect: (tx: Tx, now: Date) => Promise<Step>) =>
      writeStep(app, job, erasure, effect);
    const { wait_ms } = await part({ app, person, progress, stopping, write });
    if (wait_ms !== undefined) return { again_at: new Date(app.clock.now().getTime() + wait_ms) };
  }
}

type Pending = ErasureRow & { readonly country_code: string };

async function findPending(
  app: Pick<App, "db">,
  { account_id, subject }: Job,
): Promise<Pending | undefined> {
  return app.db.query
    .selectFrom("erasures as e")
    .innerJoin("accounts as a", "a.account_id", "e.account_id")
    .selectAll("e")
    .select("a.country_code")
    .where("e.account_id", "=", account_id)
    .where("e.id", "=", Number(subject))
    .where("e.state", "=", "pending")
    .executeTakeFirst();
}

/** Writes a step and the progress in one transaction. Throws TL001 when the job's claim is lost. */
async function writeStep(
  app: App,
  job: Job,
  erasure: Pending,
  effect: (tx: Tx, now: Date) => Promise<Step>,
): Promise<Step> {
  const now = app.clock.now();
  const before = erasure.progress as Progress;
  return app.db.query.transaction().execute(async (tx) => {
    await checkJob(tx, job);
    const step = await effect(tx, now);
    const progress: Progress = {
      part: step.at === null ? before.part + 1 : before.part,
      at: step.at,
      chat: step.chat ?? before.chat,
      voice: step.voice ?? before.voice,
      // Kept until the part is done, also while it is checked again.
      waiting_for: step.waiting_for ?? (step.at === null ? null : before.waiting_for),
    };
    await tx
      .updateTable("erasures")
      .set({
        progress: JSON.stringify(progress),
        counts: JSON.stringify(addCounts(erasure, step)),
      })
      .where("account_id", "=", job.account_id)
      .where("id", "=", erasure.id)
      .execute();
    return step;
  });
}

function addCounts(erasure: Pending, { counts = {} }: Step): Partial<Record<ErasedKind, number>> {
  const before = erasure.counts as Partial<Record<ErasedKind, number>>;
  return Object.fromEntries(
    erased_kinds.map((kind) => [kind, (before[kind] ?? 0) + (counts[kind] ?? 0)]),
  );
}

/** Completes the erasure and deletes the person's identity from it. */
async function finish(app: App, job: Job, { id, counts, requested_by }: Pending): Promise<void> {
  const { account_id } = job;
  const now = app.clock.now();
  await app.db.query.transaction().execute(async (tx) => {
    await checkJob(tx, job);
    await tx
      .updateTable("erasures")
      .set({ state: "done", finished_at: now, phone: null, bsuid: null, progress: null })
      .where("account_id", "=", account_id)
      .where("id", "=", id)
      .execute();
    await tx
      .deleteFrom("erasure_records")
      .where("account_id", "=", account_id)
      .where("erasure_id", "=", id)
      .execute();
    const actor = {
      account_id,
      user_id: requested_by,
      token_id: null,
      request_id: `job:${job.id}`,
    };
    const detail = counts;
    await recordAudit(tx, actor, { at: now, action: "person.erased", subject_id: id, detail });
  });
}
