// The explicit list of background loops.
import { openFullStorages } from "./accounts/accounts/storage.ts";
import { due_deliverers, openDeliverers } from "./callbacks/deliveries/open-deliverers.ts";
import { purgeUnusedAudio } from "./calls/audio/audio-files.ts";
import { purgeArchivedAudio } from "./calls/audio/purge-archived-audio.ts";
import { endOverdueCalls } from "./calls/controls/end-overdue-calls.ts";
import { moveStrandedCalls } from "./telephony/trunks/move-stranded-calls.ts";
import { due_nodes, openNodeLeaders, type LeaderTimes } from "./calls/leader/open-node-leaders.ts";
import { applyWebhooks, due_webhooks } from "./chat/inbound/apply-webhooks.ts";
import { due_senders, openSenders, type SenderSettings } from "./chat/sender/open-senders.ts";
import { open_imports, runLeadImports } from "./crm/lead-imports/run-lead-imports.ts";
import { openAccountPlaces, type AccountPlaces } from "./engine/account-places.ts";
import type { App } from "./engine/app.ts";
import { recordWorker } from "./engine/database-identity.ts";
import type { LeasedWorkers } from "./engine/leased-workers.ts";
import { lease_times, type LeaseTimes } from "./engine/leases.ts";
import type { NotificationChannel } from "./engine/notifications.ts";
import { pollWork, type Polled } from "./engine/poll-work.ts";
import { due_events, relayEvents } from "./engine/relay-events.ts";
import { analyzeNewTables, purgeLeases } from "./engine/database-upkeep.ts";
import { restAfterPoll } from "./engine/rest-after-poll.ts";
import { runLoop, type Loop } from "./engine/run-loop.ts";
import { dueJobs, workJobs } from "./engine/work-jobs.ts";
import { job_queues } from "./job-queues.ts";
import { countDueCampaigns } from "./reports/count-campaigns.ts";
import { foldDueCalls } from "./reports/fold-calls.ts";
import { applyRetention } from "./retention/apply-retention.ts";
import { purgeRecordings } from "./retention/purge-recordings.ts";
import {
  completeVoiceCampaigns,
  open_campaigns,
} from "./voice/campaigns/complete-voice-campaigns.ts";
import { moveStrandedCampaigns } from "./voice/campaigns/move-stranded-campaigns.ts";
import { open_scripts, synthesizeScripts } from "./voice/campaigns/synthesize-scripts.ts";

export type BackgroundWork = {
  /** Ends each loop after its current transaction. */
  stop(): Promise<void>;
};

export type WorkerSettings = SenderSettings & {
  readonly leases: LeaseTimes;
  readonly leaders: LeaderTimes;
};

/** A second's worth of the highest rate of a number. */
const in_flight_max = 1_000;

/** The worker's timings; with the defaults, a lease lasts 10 s, of which 4 s are margin. */
export function workerSettings(config: {
  readonly lease_seconds: number;
  readonly chat_settle_seconds: number;
  readonly node_lost_seconds: number;
}): WorkerSettings {
  const scale = config.lease_seconds / (lease_times.lease_ms / 1_000);
  return {
    in_flight_max,
    settle_ms: config.chat_settle_seconds * 1_000,
    leases: {
      lease_ms: lease_times.lease_ms * scale,
      renew_ms: lease_times.renew_ms * scale,
      margin_ms: lease_times.margin_ms * scale,
    },
    leaders: {
      reconcile_ms: 30_000 * scale,
      missing_ms: 5_000 * scale,
      recording_ms: 10_000 * scale,
      lost_ms: config.node_lost_seconds * 1_000,
    },
  };
}

/** The settings when nothing is configured. */
export const default_settings = workerSettings({
  lease_seconds: 10,
  chat_settle_seconds: 3_600,
  node_lost_seconds: 60,
});

/** Runs the worker role while no operator has to decide about a restored database; records that it runs. */
export function startWorkerOnceConfirmed(app: App, settings: WorkerSettings): BackgroundWork {
  let work: BackgroundWork | null = null;
  const loop = runLoop(app, {
    name: "database-identity",
    poll_ms: 2_000,
    iterate: async (stopping) => {
      const may_run = await recordWorker(app);
      if (may_run && !stopping.aborted) work ??= startWorker(app, settings);
      return 0;
    },
  });
  return {
    async stop() {
      // At once: a slow database delays the loop, and senders have a time limit. The stopping loop starts no work.
      await Promise.all([loop.stop(), work?.stop()]);
    },
  };
}

/** Starts every loop of the worker role. Any number of processes may run them. */
export function startWorker(app: App, settings: WorkerSettings = default_settings): BackgroundWork {
  const senders = openSenders(app, settings, settings.leases);
  const leaders = openNodeLeaders(app, settings.leaders, settings.leases);
  const deliverers = openDeliverers(app, settings.leases);
  const urgent = [
    poolLoop(app, { name: "voice-nodes", due: due_nodes }, leaders),
    poolLoop(app, { name: "chat-senders", channel: "chat_work", due: due_senders }, senders),
    poolLoop(app, { name: "callbacks", channel: "callback_work", due: due_deliverers }, deliverers),
    // No notification: every lead records an event, and a notification for each would slow lead creation.
    sharedLoops(app, {
      name: "relay",
      due: due_events,
      iterate: (stopping) => relayEvents(app, stopping),
    }),
  ];
  const others = otherLoops(app, settings);
  const loops = [
    pollWork(app, { name: "urgent-poll", poll_ms: 500 }, urgent),
    pollWork(app, { name: "poll", poll_ms: 1_000 }, others),
    ...[...urgent, ...others].flatMap((polled) => polled.loops),
    ...seldomLoops(app),
  ];
  return {
    async stop() {
      // All at once, so that senders start nothing new while a loop finishes its iteration.
      const holders = [senders, leaders, deliverers];
      await Promise.all([...holders, ...loops].map((part) => part.stop()));
    },
  };
}

/** The loops that are polled each second; a notification wakes most of them earlier. */
function otherLoops(app: App, settings: WorkerSettings): Polled[] {
  const full_storages = openFullStorages();
  return [
    sharedLoops(app, {
      name: "inbound-webhooks",
      channel: "chat_inbound",
      due: due_webhooks,
      iterate: (stopping) => applyWebhooks(app, stopping, settings.leases),
    }),
    sharedLoops(app, {
      name: "lead-imports",
      channel: "lead_import",
      due: open_imports,
      loops: 2,
      account_loops: 1,
      iterate: (stopping, places) => runLeadImports(app, stopping, places),
    }),
    sharedLoops(app, {
      name: "voice-scripts",
      channel: "voice_work",
      due: open_scripts,
      loops: 2,
      account_loops: 1,
      iterate: (stopping, places) => synthesizeScripts(app, stopping, places, full_storages),
    }),
    sharedLoops(app, {
      name: "completed-voice-campaigns",
      due: open_campaigns,
      iterate: () => completeVoiceCampaigns(app),
    }),
    ...job_queues.map(({ handlers, ...queue }) =>
      sharedLoops(app, {
        ...queue,
        channel: "job",
        due: dueJobs(Object.keys(handlers)),
        // Leased like chat numbers: the jobs of a killed worker are delayed no longer.
        iterate: (stopping, places) =>
          workJobs(app, handlers, stopping, { times: settings.leases, places }),
      }),
    ),
  ];
}

type PolledLoop = {
  readonly name: string;
  readonly channel?: NotificationChannel;
  readonly due: readonly string[];
};

/** The loop that starts the workers of a pool. */
function poolLoop(app: App, { due, ...loop }: PolledLoop, pool: LeasedWorkers): Polled {
  const starting = runLoop(app, { ...loop, iterate: () => pool.startDue() });
  return { loops: [starting], due, isActive: () => pool.isActive() };
}

/** Loops, or only one, that share their accounts' places. One is notified, so that a notification causes one query. */
function sharedLoops(
  app: App,
  work: PolledLoop & {
    readonly loops?: number;
    readonly account_loops?: number;
    readonly iterate: (stopping: AbortSignal, places: AccountPlaces) => Promise<number>;
  },
): Polled {
  const { name, channel, due, loops = 1 } = work;
  const places = openAccountPlaces(work.account_loops);
  const shared = Array.from({ length: loops }, (_, i) =>
    runLoop(app, {
      name,
      ...(i === 0 && channel ? { channel } : {}),
      iterate: (stopping) => work.iterate(stopping, places),
    }),
  );
  return { loops: shared, due };
}

/** Loops whose polls are too seldom to share one. */
function seldomLoops(app: App): Loop[] {
  const restMs = (took_ms: number) => restAfterPoll(app.db, { took_ms, isIdle: true });
  return [
    runLoop(app, {
      name: "stranded-calls",
      poll_ms: 5_000,
      restMs,
      iterate: async () => (await moveStrandedCalls(app)) + (await endOverdueCalls(app)),
    }),
    runLoop(app, {
      name: "stranded-voice-campaigns",
      poll_ms: 5_000,
      restMs,
      iterate: () => moveStrandedCampaigns(app),
    }),
    runLoop(app, {
      name: "new-tables",
      poll_ms: 10_000,
      iterate: () => analyzeNewTables(app),
    }),
    runLoop(app, {
      name: "report-counts",
      poll_ms: 60_000,
      iterate: async (stopping) =>
        (await foldDueCalls(app, stopping)) + (await countDueCampaigns(app, stopping)),
    }),
    runLoop(app, {
      name: "retention",
      poll_ms: 60_000,
      iterate: (stopping) => applyRetention(app, stopping),
    }),
    // A loop of its own, because it waits for nodes.
    runLoop(app, {
      name: "retention-recordings",
      poll_ms: 60_000,
      iterate: (stopping) => purgeRecordings(app, stopping),
    }),
    runLoop(app, {
      name: "unused-leases",
      poll_ms: 600_000,
      iterate: () => purgeLeases(app),
    }),
    runLoop(app, {
      name: "unused-audio",
      poll_ms: 600_000,
      iterate: () => purgeUnusedAudio(app),
    }),
    runLoop(app, {
      name: "archived-audio",
      poll_ms: 600_000,
      iterate: () => purgeArchivedAudio(app),
    }),
  ];
}
