// Prompts of a campaign that text-to-speech rejects.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount, type TestAccount } from "../../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import { callValue, voiceValue } from "../../../../test/support/call-values.ts";
import { toneSpeech } from "../../../../test/support/tone-speech.ts";
import { tone } from "../../../../test/support/tones.ts";
import { makeVoiceCampaign } from "../../../../test/support/voice-factory.ts";
import { SpeechError } from "../../../drivers/speech/driver.ts";
import type { VoiceContent } from "../../state-machine/voice-plan.ts";
import { storeAudio, synthesizeAudio } from "../../audio/audio-files.ts";
import { openContentGate } from "../dialer/content-gate.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import { prepareContent } from "./prepare-content.ts";

const speech = {
  ...toneSpeech,
  synthesize: async (utterance: Parameters<typeof toneSpeech.synthesize>[0]) => {
    if (utterance.text.includes("poison")) throw new SpeechError("failed", "it crashed");
    return toneSpeech.synthesize(utterance);
  },
};

let api: TestApi;
before(async () => void (api = await startApi({ speech })));
after(() => api.close());

/** Prepares 15 calls of a campaign, one after the other, for recipients with these variables. */
async function prepareCalls(
  say: string,
  variables: (i: number) => Record<string, string>,
  existing: TestAccount | null = null,
) {
  const account = existing ?? (await makeAccount(api.app));
  const { account_id } = account;
  const content: VoiceContent = {
    call_type: "obd_ivr",
    menu: {
      start: "bye",
      nodes: { bye: { type: "hang_up", prompt: { say, language: "en" } } },
    },
  };
  const { id: campaign_id } = await makeVoiceCampaign(api.app, account);
  let now_ms = 0;
  const gate = openContentGate(() => now_ms);
  const caches = { prepared_texts: new Map(), full_storages: new Map() };
  const leader = { app: api.app, gate, ...caches } as unknown as Leader;
  const blockers = new Set<unknown>();
  for (let i = 0; i < 15; i++) {
    const voice = voiceValue({ content, variables: variables(i) });
    const call = callValue({ account_id, campaign_id, voice });
    blockers.add(await prepareContent(leader, { call } as LiveCall));
    now_ms += 600_000;
    gate.room(call);
  }
  const holds = await api.app.db.query
    .selectFrom("voice_holds")
    .select(["reason", "detail"])
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .execute();
  return { blockers: [...blockers], holds };
}

test("a rejected text that is the same for every recipient makes them wait, and pauses the campaign after 15 attempts", async () => {
  const { blockers, holds } = await prepareCalls("poison for everyone", () => ({}));
  assert.deepEqual(blockers, ["speech_unavailable"]);
  const detail =
    '15 attempts in a row failed, most recently: text-to-speech rejects "poison for everyone"';
  assert.deepEqual(holds, [{ reason: "error_threshold", detail }]);
});

test("a rejected text with a recipient's variables fails this recipient and does not pause the campaign", async () => {
  const { blockers, holds } = await prepareCalls("{{word}}", (i) => ({ word: `poison ${i}` }));
  assert.deepEqual(blockers, ["speech_rejected"]);
  assert.deepEqual(holds, []);
});

test("while an account's storage is full, recipients with texts that are not stored wait, and no text is stored", async () => {
  const { query, pool } = api.app.db;
  const account = await makeAccount(api.app);
  const { account_id } = account;
  await pool.query("update accounts set storage_megabytes = 1 where account_id = $1", [account_id]);
  await synthesizeAudio(api.app, account_id, { text: "Hello Ann", language: "en" });
  await storeAudio(query, account_id, tone(63_000), new Date());
  const stored = async () => {
    const audio = query.selectFrom("voice_audio").select("name");
    return (await audio.where("account_id", "=", account_id).execute()).length;
  };
  const known = await prepareCalls("Hello {{name}}", () => ({ name: "Ann" }), account);
  assert.deepEqual(known.blockers, [null]);
  const more = await prepareCalls("Hello {{name}}", (i) => ({ name: `N${i}` }), account);
  assert.deepEqual(more.blockers, ["speech_unavailable"]);
  const detail = "15 attempts in a row failed, most recently: the account's storage is full";
  assert.deepEqual(more.holds, [{ reason: "error_threshold", detail }]);
  assert.equal(await stored(), 2);
});
