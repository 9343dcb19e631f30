// Erases what is kept of a person: part after part, in small steps, each in a transaction together with
// how far it is. A crash goes on where it was; nothing is counted twice.
import { recordAudit } from "../accounts/audit/record-audit.ts";
import type { App } from "../engine/app.ts";
import { checkJob, type Job } from "../engine/work-jobs.ts";
import type { Tx } from "../lib/database/database.ts";
import { eraseAnswers } from "./erase/answers.ts";
import { eraseCalls } from "./erase/calls.ts";
import { awaitChatRecipients, scanChatRecipients } from "./erase/chat-recipients.ts";
import { eraseGroupMembers, eraseNotices, eraseReplies } from "./erase/found-by-index.ts";
import { eraseNews } from "./erase/news.ts";
import type { Part, Person, Progress, Step } from "./erase/part.ts";
import { erasePeople } from "./erase/people.ts";
import { eraseRecordings } from "./erase/recordings.ts";
import { eraseImportRejects, eraseImportRows, eraseVoiceRejects } from "./erase/uploads.ts";
import { awaitVoiceRecipients, scanVoiceRecipients } from "./erase/voice-recipients.ts";
import { erased_kinds, type ErasedKind } from "./erasure-schema.ts";
import type { ErasureRow } from "./erasures.ts";

/**
 * What is to be sent and called goes first; calls go before leads, because they make some; what the outbox
 * tells comes after all that is told there; recordings come last, for their nodes may be silent. Stored erasures name a part by its place.
 */
const parts: readonly Part[] = [
  scanChatRecipients,
  scanVoiceRecipients,
  eraseImportRows,
  awaitVoiceRecipients,
  eraseCalls,
  erasePeople,
  eraseGroupMembers,
  eraseImportRejects,
  eraseVoiceRejects,
  eraseNotices,
  eraseAnswers,
  awaitChatRecipients,
  eraseReplies,
  eraseNews,
  eraseRecordings,
];

/** Then others' jobs have their turn. */
const run_ms_max = 5_000;

/**
 * The job retention.erase_person of one erasure. Stopped on the way, or after `ms_max`, it goes on with its
 * next run; while a message or call to the person is under way it comes back later.
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
    const person = personOf(erasure);
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

function personOf({ account_id, phone, country_code }: Pending): Person {
  // Of a pending one there is a number: the table's check.
  const whole = phone!;
  const local = new RegExp(`^${country_code}([0-9]{10})$`).exec(whole)?.[1];
  const before = local === undefined ? "(00)?" : `((00)?${country_code}|0)?`;
  const digits = local ?? whole;
  return {
    account_id,
    phone: whole,
    digits,
    pattern: `(^|[^0-9])${before}${digits}([^0-9]|$)`,
  };
}

/** Whoever has lost the job writes nothing. */
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
      calls: step.calls ?? before.calls,
      // Until it is over, also while it is looked at again.
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

/** Forgets the number itself. */
async function finish(app: App, job: Job, { id, counts, requested_by }: Pending): Promise<void> {
  const { account_id } = job;
  const now = app.clock.now();
  await app.db.query.transaction().execute(async (tx) => {
    await checkJob(tx, job);
    await tx
      .updateTable("erasures")
      .set({ state: "done", finished_at: now, phone: null, progress: null })
      .where("account_id", "=", account_id)
      .where("id", "=", id)
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
