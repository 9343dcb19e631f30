// The service as a separate process, a node with a trunk to a far end, and audio that every call plays.
import { openAudioFolder } from "../../server/drivers/voice/asterisk/store-audio-file.ts";
import { findAudio, storeAudio } from "../../server/calls/audio/audio-files.ts";
import type { RunningAsterisk } from "../../scripts/asterisk/start-asterisk.ts";
import {
  makeCallingAccount,
  makeNode,
  makeTrunk,
  setCalling,
} from "../../test/support/telephony-factory.ts";
import { checkVoiceCampaigns } from "../../test/support/check-invariants.ts";
import { startService, type ServiceProcess } from "../../test/support/service-process.ts";
import { tone } from "../../test/support/tones.ts";
import { makeVoiceFile } from "../../test/support/voice-factory.ts";
import { customerOf, openAccountChecks, openNode, trunk } from "../calls/fixture.ts";
import { openBenchApp } from "../lib/open-bench-app.ts";

const credits = 100_000_000;
const hz = 440;

export type Fixture = {
  readonly service: ServiceProcess;
  /** The audio in Asterisk's sounds folder; null in the sandbox. */
  readonly audio_path: string | null;
  /** Activates the node with these limits of calls; resolves when its leader is connected. */
  activate(calls_max: number, calls_per_second?: number): Promise<void>;
  /** Deactivates the node; waits until it has no leader. */
  deactivate(): Promise<void>;
  /** Launches a campaign for `count` customers by CSV over HTTP; returns its ID. Throws unless the status is 201. */
  launch(count: number): Promise<number>;
  /** Counts the campaign's recipients whose state is not final. */
  pending(campaign_id: number): Promise<number>;
  /** Returns the account's calls that are playing the audio. */
  listPlaying(): Promise<readonly number[]>;
  /** Hangs up a call over HTTP; it may already have ended. */
  hangUp(call_id: number): Promise<void>;
  /** Throws unless every recipient of the campaign answered. */
  checkReached(campaign_id: number): Promise<void>;
  checkpoint(): Promise<void>;
  /** Throws unless every call ended once, the counts match the recipients, and the ledger matches. */
  checkInvariants(): Promise<void>;
  close(): Promise<void>;
};

type App = ReturnType<typeof openBenchApp>;

/** Starts the service; without `asterisk` it uses the sandbox. */
export async function openFixture(
  database_url: string,
  options: {
    readonly asterisk: RunningAsterisk | null;
    readonly data_dir: string;
    readonly audio_ms: number;
  },
): Promise<Fixture> {
  const { asterisk, data_dir, audio_ms } = options;
  const service = await startService({
    DATABASE_URL: database_url,
    DATA_DIR: data_dir,
    TRUNKLINE_SEED: "none",
  });
  const app = openBenchApp(database_url);
  const account = await makeCallingAccount(app, { credits });
  const { account_id } = account;
  await setCalling(app, account, { calls_recorded: false });
  const node_id = await makeNode(app, { ...nodeOf(asterisk), active: false });
  const trunk_id = await makeTrunk(app, [node_id], {
    endpoint: asterisk ? trunk.endpoint : "sandbox",
    caller_ids: [trunk.caller_id],
    only_account_id: account_id,
  });
  const stored = await storeAudio(
    app.db.query,
    account_id,
    tone(audio_ms, { hz }),
    app.clock.now(),
  );
  const audio = await findAudio(app.db.query, account_id, stored.name);
  const audio_path = asterisk && (await openAudioFolder(asterisk.sounds_dir).store(audio!));
  const file_id = await makeVoiceFile(app, account, {
    audio_name: stored.name,
    duration_ms: stored.duration_ms,
    text: null,
  });
  const node = openNode(app, node_id);
  const { checkInvariants, checkpoint } = openAccountChecks(app, account_id);
  return {
    service,
    audio_path,
    async activate(calls_max, calls_per_second = 1_000) {
      const sql = "update trunk_nodes set calls_per_second = $2 where trunk_id = $1";
      await app.db.pool.query(sql, [trunk_id, calls_per_second]);
      await node.activate(calls_max);
      await node.awaitConnected().catch((cause: unknown) => {
        throw new Error(`the service printed: ${service.output()}`, { cause });
      });
    },
    deactivate: node.deactivate,
    ...openRequests(service, account.token, file_id),
    ...openCampaigns(app, account_id),
    checkpoint,
    async checkInvariants() {
      await checkInvariants();
      await checkVoiceCampaigns(app.db.pool);
    },
    async close() {
      await service.dispose();
      await app.close();
    },
  };
}

function openRequests(
  service: ServiceProcess,
  token: string,
  file_id: number,
): Pick<Fixture, "launch" | "hangUp"> {
  /** The number of customers called so far; none is called twice. */
  let customers = 0;
  return {
    async launch(count) {
      const raw = formOf(file_id, customers, count);
      customers += count;
      const answer = await service.send("POST", "/api/v1/voice/voiceCampaign", { token, raw });
      if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
      return (answer.body as { campaignId: number }).campaignId;
    },
    async hangUp(call_id) {
      const answer = await service.send("POST", `/api/v1/calls/${call_id}/hangup`, { token });
      // 409: it has just ended.
      if (answer.status !== 200 && answer.status !== 409)
        throw new Error(`${answer.status} ${answer.text}`);
    },
  };
}

function nodeOf(asterisk: RunningAsterisk | null) {
  if (!asterisk) return { driver: "sandbox" } as const;
  const { ari_url, ari_user, ari_password, app: ari_app, cdr_path, sounds_dir } = asterisk;
  const ari = { ari_url, ari_user, ari_password, ari_app, cdr_path, sounds_dir };
  return { driver: "asterisk", ...ari } as const;
}

function formOf(file_id: number, first: number, count: number): FormData {
  const numbers = Array.from({ length: count }, (_, i) => customerOf(first + i));
  const fields = {
    campaign_name: "Bench",
    voice_file_id: String(file_id),
    call_type: "obd_voice_call",
    sendTo: "csv",
    csv_number_column: "phone",
  };
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set("file", new Blob([`phone\n${numbers.join("\n")}\n`]), "people.csv");
  return form;
}

type CampaignQueries = "pending" | "listPlaying" | "checkReached";

function openCampaigns({ db: { pool } }: App, account_id: number): Pick<Fixture, CampaignQueries> {
  return {
    async pending(campaign_id) {
      const { rows } = await pool.query<{ pending: number }>(
        `select sum(synthesizing + waiting + calling)::int as pending
         from voice_counts where account_id = $1 and campaign_id = $2`,
        [account_id, campaign_id],
      );
      return rows[0]!.pending;
    },
    async listPlaying() {
      const { rows } = await pool.query<{ id: number }>(
        `select id::int from calls
         where account_id = $1 and stage not in ('queued', 'ended')
           and position ->> 'doing' = 'playing'`,
        [account_id],
      );
      return rows.map(({ id }) => id);
    },
    async checkReached(campaign_id) {
      const { rows } = await pool.query<{ state: string; count: number }>(
        `select state, count(*)::int as count from voice_recipients
         where account_id = $1 and campaign_id = $2 and state <> 'answered' group by 1`,
        [account_id, campaign_id],
      );
      if (rows.length > 0) throw new Error(`not every recipient answered: ${JSON.stringify(rows)}`);
    },
  };
}
