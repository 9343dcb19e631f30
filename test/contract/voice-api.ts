// The launch endpoint with an account that may use it: the fixture of the voice contract tests.
import assert from "node:assert/strict";
import { startApi, type Answer, type RequestOptions, type TestApi } from "../support/api.ts";
import { makeSandboxTrunk, setCalling } from "../support/telephony-factory.ts";
import { makeAccount, makeCredits, type TestAccount } from "../support/account-factory.ts";
import { makeFullVoiceFile } from "../support/voice-file-factory.ts";
import { assertProblem } from "./lead-api.ts";

export const launch_path = "/api/v1/voice/voiceCampaign";
export const preview_path = "/api/v1/voice/campaigns/preview";
export const test_call_path = "/api/v1/voice/campaigns/test-call";

export type VoiceApi = {
  readonly api: TestApi;
  readonly account: TestAccount;
  readonly trunk_id: number;
  /** A voice file with audio, a script with the variable `name`, a menu and an AI agent. */
  readonly voice_file_id: number;
  /** Returns a valid body; `more` replaces and adds fields. */
  body(more?: Record<string, unknown>): Record<string, unknown>;
  /** Launches a campaign with the account's token. */
  launch(json: unknown, more?: RequestOptions): Promise<Answer>;
  /** Launches a campaign by form, with the parts in this order. */
  launchForm(
    parts: readonly (readonly [string, string | Blob])[],
    more?: RequestOptions,
  ): Promise<Answer>;
  /** Launches a valid body with some fields replaced and returns what is stored. */
  take(more?: Record<string, unknown>): Promise<StoredCampaign>;
  /** Asserts that the same launch is a 422 on exactly these fields; returns the reasons. */
  refuse(more: Record<string, unknown>, ...fields: string[]): Promise<string[]>;
  stored(campaignId: number): Promise<StoredCampaign>;
  campaignCount(): Promise<number>;
};

export type StoredCampaign = Awaited<ReturnType<typeof findStored>>;

/** Starts the API with an account with the voice feature, a trunk and a voice file; close `api` in `after`. */
export async function startVoiceApi(
  options: Parameters<typeof startApi>[0] = {},
): Promise<VoiceApi> {
  const api = await startApi(options);
  const account = await makeAccount(api.app);
  await setCalling(api.app, account, { night_calling: true });
  await makeCredits(api.app, account, { call: 100_000 });
  const { trunk_id } = await makeSandboxTrunk(api.app, account);
  const voice_file_id = await makeFullVoiceFile(api.app, account);
  const { account_id, token } = account;
  const body = (more: Record<string, unknown> = {}) => ({
    campaign_name: "Delivery day",
    voice_file_id,
    call_type: "obd_voice_call",
    sendTo: "Numbers",
    number: "9876543210",
    ...more,
  });
  const launch = (json: unknown, more: RequestOptions = {}) =>
    api.send("POST", launch_path, { token, json, ...more });
  const stored = (campaignId: number) => findStored(api, account_id, campaignId);
  return {
    api,
    account,
    trunk_id,
    voice_file_id,
    body,
    launch,
    launchForm: (parts, more = {}) =>
      api.send("POST", launch_path, { token, raw: formOf(parts), ...more }),
    async take(more) {
      return stored(assertLaunched(await launch(body(more))));
    },
    async refuse(more, ...fields) {
      return assertRefused(await launch(body(more)), ...fields);
    },
    stored,
    async campaignCount() {
      const { count } = await api.app.db.query
        .selectFrom("call_campaigns")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .where("account_id", "=", account_id)
        .executeTakeFirstOrThrow();
      return count;
    },
  };
}

/** Builds a form from these parts, in this order. */
export function formOf(parts: readonly (readonly [string, string | Blob])[]): FormData {
  const form = new FormData();
  for (const [name, value] of parts)
    if (typeof value === "string") form.append(name, value);
    else form.append(name, value, "people.csv");
  return form;
}

/** Asserts a successful launch with the exact response body of the contract; returns the campaignId. */
export function assertLaunched(answer: Answer): number {
  assert.equal(answer.status, 201, answer.text);
  const { id, campaignId } = answer.body;
  assert.equal(answer.text, JSON.stringify({ success: true, id, campaignId }));
  assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.ok(Number.isSafeInteger(campaignId) && campaignId > 0);
  return campaignId as number;
}

/** Asserts a 422 on exactly these fields; returns the reasons. */
export function assertRefused(answer: Answer, ...fields: string[]): string[] {
  assertProblem(answer, 422, "validation-failed");
  const errors = answer.body.errors as { field: string; reason: string }[];
  const named = errors.map(({ field }) => field);
  assert.deepEqual(named, fields, answer.text);
  return errors.map(({ reason }) => reason);
}

async function findStored({ app }: TestApi, account_id: number, id: number) {
  const db = app.db.query;
  const campaign = await db
    .selectFrom("voice_campaigns")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  const of = { account_id, campaign_id: id };
  const recipients = await db
    .selectFrom("voice_recipients")
    .select(["id", "number", "phone", "variables", "state", "due_at"])
    .where((eb) => eb.and(of))
    .orderBy("id")
    .execute();
  const rejects = await db
    .selectFrom("voice_rejects")
    .select(["row", "value", "reason"])
    .where((eb) => eb.and(of))
    .orderBy("row")
    .execute();
  const counts = await db
    .selectFrom("voice_counts")
    .select(["slot", "synthesizing", "waiting"])
    .where((eb) => eb.and(of))
    .executeTakeFirstOrThrow();
  return { campaign, recipients, rejects, counts };
}
