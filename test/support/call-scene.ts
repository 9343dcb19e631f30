// An account that calls over the sandbox, in this process, at a hundredth of its times.
import { openNodeLeaders, type NodeLeaders } from "../../server/calls/run-nodes.ts";
import {
  openSandboxVoiceDriver,
  type SandboxVoiceDriver,
} from "../../server/drivers/voice/sandbox/open-sandbox-driver.ts";
import type { App } from "../../server/engine/app.ts";
import { runLoop } from "../../server/engine/run-loop.ts";
import { default_settings } from "../../server/worker.ts";
import { startApi, type Answer, type TestApi } from "./api.ts";
import { makeCallingAccount, makeSandboxTrunk } from "./call-makers.ts";
import { eventually } from "./eventually.ts";
import { makeToken, type TestAccount } from "./makers.ts";

const pace = 50;

export type CallScene = {
  readonly api: TestApi;
  readonly app: App;
  readonly sandbox: SandboxVoiceDriver;
  readonly account: TestAccount;
  readonly node_id: number;
  readonly trunk_id: number;
  /** Sends a request as the account. */
  ask(method: string, path: string, json?: unknown): Promise<Answer>;
  /** Submits a click-to-call and returns its campaign's id. */
  call(asked: Record<string, unknown>): Promise<number>;
  /** The reports of a campaign's calls, in the order of their attempts, with their details. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  reports(campaignId: number): Promise<any[]>;
  /** The campaign's only or newest report, once its status is one of these. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  reported(campaignId: number, ...statuses: string[]): Promise<any>;
  /** Leads the nodes as a worker does. */
  startLeaders(): NodeLeaders;
  close(): Promise<void>;
};

const final_statuses = ["completed", "busy", "failed", "no-answer", "canceled"];

/** Whether a call may end as this. */
export function isFinal(status: string): boolean {
  return final_statuses.includes(status);
}

export async function openCallScene(more: { credits?: number } = {}): Promise<CallScene> {
  const sandbox = openSandboxVoiceDriver({ pace });
  const api = await startApi({ voiceDrivers: { sandbox } });
  const { app } = api;
  const account = await makeCallingAccount(app, more);
  const { node_id, trunk_id } = await makeSandboxTrunk(app);
  const token = await makeToken(app, account);
  const stops: (() => Promise<void>)[] = [];
  const scene: CallScene = {
    api,
    app,
    sandbox,
    account,
    node_id,
    trunk_id,
    ask: (method, path, json) => api.send(method, path, { token, json }),
    async call(asked) {
      const answer = await scene.ask("POST", "/api/v1/clickToCallApis/clickToCall", asked);
      if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
      return answer.body.data.campaignId;
    },
    async reports(campaignId) {
      const list = await scene.ask("GET", `/api/v1/calls?campaign_id=${campaignId}`);
      const details = list.body.data.map(({ call_id }: { call_id: number }) =>
        scene.ask("GET", `/api/v1/calls/${call_id}`),
      );
      const found = (await Promise.all(details)) as Answer[];
      return found.map(({ body }) => body).toReversed();
    },
    async reported(campaignId, ...statuses) {
      let last: Answer["body"];
      await eventually(async () => {
        last = (await scene.reports(campaignId)).at(-1);
        const isOver = last?.ended_at !== null || !isFinal(last.status);
        return last !== undefined && statuses.includes(last.status) && isOver;
      });
      return last;
    },
    startLeaders() {
      const leaders = openNodeLeaders(app, default_settings.leaders, default_settings.leases);
      const loop = runLoop(app, {
        name: "voice-nodes",
        poll_ms: 50,
        turn: () => leaders.startDue(),
      });
      const stop = async () => {
        await loop.stop();
        await leaders.stop();
      };
      stops.push(stop);
      return { ...leaders, stop };
    },
    async close() {
      for (const stop of stops) await stop();
      await sandbox.close();
      await api.close();
    },
  };
  return scene;
}
