// Submits calls as an account over the API and reads their call records.
import { openNodeLeaders, type LeaderTimes } from "../../server/calls/leader/open-node-leaders.ts";
import type { App } from "../../server/engine/app.ts";
import type { LeaseTimes } from "../../server/engine/leases.ts";
import { runLoop } from "../../server/engine/run-loop.ts";
import { default_settings } from "../../server/worker.ts";
import type { Answer, TestApi } from "./api.ts";
import { eventually } from "./eventually.ts";
import { makeToken, type TestAccount } from "./account-factory.ts";

export type CallClient = {
  readonly account: TestAccount;
  readonly token: string;
  /** Sends a request as the account. */
  ask(method: string, path: string, json?: unknown): Promise<Answer>;
  /** Submits a click-to-call and returns its campaign's id. */
  call(fields: Record<string, unknown>): Promise<number>;
  /** Reads the records of a campaign's calls with their details, in the order of their attempts. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read responses of every shape
  callRecords(campaignId: number): Promise<any[]>;
  /** Waits until the campaign's newest call has one of these statuses (and has ended, if it is final); returns its record. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  awaitCall(campaignId: number, ...statuses: string[]): Promise<any>;
};

const final_statuses = new Set(["completed", "busy", "failed", "no-answer", "canceled"]);

/** Reports whether a call can end with this status. */
export function isFinal(status: string): boolean {
  return final_statuses.has(status);
}

export async function openCallClient(
  api: Pick<TestApi, "app" | "send">,
  account: TestAccount,
): Promise<CallClient> {
  const token = await makeToken(api.app, account);
  const client: CallClient = {
    account,
    token,
    ask: (method, path, json) => api.send(method, path, { token, json }),
    async call(fields) {
      const answer = await client.ask("POST", "/api/v1/clickToCallApis/clickToCall", fields);
      if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
      return answer.body.data.campaignId;
    },
    async callRecords(campaignId) {
      const list = await client.ask("GET", `/api/v1/calls?campaign_id=${campaignId}`);
      const details = list.body.data.map(({ call_id }: { call_id: number }) =>
        client.ask("GET", `/api/v1/calls/${call_id}`),
      );
      const found = (await Promise.all(details)) as Answer[];
      return found.map(({ body }) => body).toReversed();
    },
    async awaitCall(campaignId, ...statuses) {
      let last: Answer["body"];
      const isThere = async () => {
        last = (await client.callRecords(campaignId)).at(-1);
        const isOver = last?.ended_at !== null || !isFinal(last.status);
        return last !== undefined && statuses.includes(last.status) && isOver;
      };
      await eventually(isThere).catch((error: unknown) => {
        throw new Error(`no call is ${statuses.join(" or ")}: ${JSON.stringify(last)}`, {
          cause: error,
        });
      });
      return last;
    },
  };
  return client;
}

/** Runs the node leaders as a worker does. */
export function leadNodes(
  app: App,
  times: LeaderTimes = default_settings.leaders,
  leases: LeaseTimes = default_settings.leases,
): { stop(): Promise<void> } {
  const leaders = openNodeLeaders(app, times, leases);
  const loop = runLoop(app, {
    name: "voice-nodes",
    poll_ms: 50,
    iterate: () => leaders.startDue(),
  });
  return {
    async stop() {
      await loop.stop();
      await leaders.stop();
    },
  };
}
