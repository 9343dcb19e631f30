// Calls keep to the hours of the customer's own time zone, besides the account's.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openCallFixture, type CallFixture } from "../../../../test/support/call-fixture.ts";
import { openCallClient, type CallClient } from "../../../../test/support/call-client.ts";
import { makeContact } from "../../../../test/support/crm-factory.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { makeCallingAccount, setCalling } from "../../../../test/support/telephony-factory.ts";
import { makeFullVoiceFile } from "../../../../test/support/voice-file-factory.ts";
import { makeVoiceCampaign } from "../../../../test/support/voice-factory.ts";
import { findCustomerHours } from "../../customer-hours.ts";

let fixture: CallFixture;
/** An account in Kolkata that calls the United States, from 09:00 to 21:00. */
let kolkata: CallClient;
let voice_file_id: number;

before(async () => {
  fixture = await openCallFixture();
  const { app, api } = fixture;
  const account = await makeCallingAccount(app);
  await setCalling(app, account, {
    night_calling: false,
    calling_from: "09:00",
    calling_to: "21:00",
    time_zone: "Asia/Kolkata",
    country_code: "1",
  });
  voice_file_id = await makeFullVoiceFile(app, account);
  kolkata = await openCallClient(api, account);
  fixture.startLeaders();
});
// 20:00 in Kolkata, 10:30 in New York, 07:30 in San Francisco.
beforeEach(() => fixture.api.clock.set("2026-05-01T14:30:00Z"));
after(() => fixture.close());

// Numbers that are unallocated in the sandbox: their calls end at once.
const [new_york, san_francisco, california] = ["2125777404", "4155777404", "6505777404"];

async function launch(number: string): Promise<string> {
  const answer = await kolkata.ask("POST", "/api/v1/voice/voiceCampaign", {
    campaign_name: "Hours",
    voice_file_id,
    call_type: "obd_voice_call",
    sendTo: "Numbers",
    number,
  });
  assert.equal(answer.status, 201, answer.text);
  return `/api/v1/voice/campaigns/${answer.body.campaignId}`;
}

const campaignAt = async (path: string) => (await kolkata.ask("GET", path)).body;
const recipientsAt = async (path: string) =>
  (await kolkata.ask("GET", `${path}/recipients`)).body.data;

test("calls each recipient of a campaign only in the window of their own time zone, and shows why the others wait", async () => {
  const path = await launch(`${san_francisco},${new_york}`);
  await eventually(async () => (await campaignAt(path)).failed === 1);
  const waiting = await campaignAt(path);
  // 09:00 to 09:30 in Kolkata is 20:30 to 21:00 in San Francisco.
  const callable_from = "2026-05-02T03:30:00.000Z";
  assert.deepEqual(
    [waiting.status, waiting.waiting_for, waiting.callable_from, waiting.attempts],
    ["running", "recipient_hours", callable_from, 1],
  );
  const [first, second] = await recipientsAt(path);
  assert.deepEqual(
    [first.state, first.time_zones, first.callable_from],
    ["waiting", ["America/Los_Angeles"], callable_from],
  );
  assert.deepEqual(
    [second.state, second.time_zones, second.callable_from],
    ["failed", ["America/New_York"], null],
  );
  fixture.api.clock.set("2026-05-02T03:29:59Z");
  const other = await launch(new_york);
  assert.equal((await campaignAt(other)).waiting_for, "calling_window");
  fixture.api.clock.set("2026-05-02T03:30:00Z");
  await eventually(async () => (await campaignAt(path)).failed === 2);
  assert.equal((await campaignAt(other)).waiting_for, "recipient_hours", "23:30 in New York");
  await kolkata.ask("POST", `${other}/cancel`);
});

test("goes by the contact's time zone instead of the phone's, in both directions", async () => {
  const { app } = fixture;
  const at = (phone: string, time_zone: string) =>
    makeContact(app, kolkata.account, { name: "Ada", phone, phone_e164: `+1${phone}`, time_zone });
  await at("2126777404", "America/Los_Angeles");
  await at("4156777404", "America/New_York");
  const path = await launch("2126777404,4156777404");
  await eventually(async () => (await campaignAt(path)).failed === 1);
  const states = (await recipientsAt(path)).map(({ state }: { state: string }) => state);
  assert.deepEqual(states, ["waiting", "failed"]);
  assert.equal((await campaignAt(path)).waiting_for, "recipient_hours");
  await kolkata.ask("POST", `${path}/cancel`);
});

test("goes by the time zone of a contact whose phone is spelled in another way, at the launch, at the dial and at a request", async () => {
  const { app, api, trunk_id } = fixture;
  const account = await makeCallingAccount(app);
  await setCalling(app, account, {
    night_calling: false,
    calling_from: "09:00",
    calling_to: "21:00",
    time_zone: "Asia/Kolkata",
    country_code: "54",
  });
  const argentina = await openCallClient(api, account);
  // 11:30 in Buenos Aires, 07:30 in San Francisco.
  const time_zone = "America/Los_Angeles";
  const contact = (phone: string, phone_e164: string) =>
    makeContact(app, account, { name: "Ada", phone, phone_e164, time_zone });
  await contact("1125777404", "+5491125777404");
  await contact("1126777404", "+541126777404");
  const recipient = async (campaign: number) =>
    (await argentina.ask("GET", `/api/v1/voice/campaigns/${campaign}/recipients`)).body.data[0];
  // 08:30 in Kolkata, so that nothing is dialed.
  fixture.api.clock.set("2026-05-01T03:00:00Z");
  const launched = await argentina.ask("POST", "/api/v1/voice/voiceCampaign", {
    campaign_name: "Spellings",
    voice_file_id: await makeFullVoiceFile(app, account),
    call_type: "obd_voice_call",
    sendTo: "Numbers",
    number: "1125777404",
  });
  assert.equal(launched.status, 201, launched.text);
  assert.deepEqual((await recipient(launched.body.campaignId)).time_zones, [time_zone]);
  fixture.api.clock.set("2026-05-01T14:30:00Z");
  // Stored without the launch, so that only the dial looks for contacts.
  const { id } = await makeVoiceCampaign(app, account, {
    campaign: { trunk_id },
    recipients: [{ number: "+5491126777404", phone: "5491126777404" }],
  });
  app.notifications.send("voice_work", String(trunk_id));
  await eventually(async () => (await recipient(id)).ended_reason !== null);
  const one = await recipient(id);
  assert.deepEqual([one.ended_reason, one.time_zones], ["night_window", [time_zone]]);
  for (const phone of ["541125777404", "5491126777404"]) {
    const [hours] = await findCustomerHours(app.db.pool, [account.account_id, phone]);
    assert.deepEqual(hours!.contact_time_zones, [time_zone], phone);
  }
});

test("does not call a recipient whose zone became known only after the launch", async () => {
  const { app, trunk_id } = fixture;
  const { account } = kolkata;
  // As from a campaign that an earlier version launched.
  const { id } = await makeVoiceCampaign(app, account, {
    campaign: { trunk_id },
    recipients: [{ number: california, phone: `1${california}` }],
  });
  const path = `/api/v1/voice/campaigns/${id}`;
  app.notifications.send("voice_work", String(trunk_id));
  const recipient = async () => (await recipientsAt(path))[0];
  await eventually(async () => (await recipient()).ended_reason !== null);
  assert.deepEqual(
    [(await recipient()).state, (await recipient()).due_at],
    ["waiting", "2026-05-02T03:30:00.000Z"],
  );
  const { body } = await kolkata.ask("GET", `/api/v1/calls?campaign_id=${id}`);
  assert.deepEqual(
    body.data.map((call: { ended_reason: string; ringing_at: null; cost: number }) => [
      call.ended_reason,
      call.ringing_at,
      call.cost,
    ]),
    [["night_window", null, 0]],
  );
  assert.equal((await campaignAt(path)).attempts, 0);
  await kolkata.ask("POST", `${path}/cancel`);
});

test("calls a recipient whose contact's time zone changes after the launch in the window of the new zone", async () => {
  const phone = "2127777404";
  // 17:30 in Kolkata, 08:00 in New York. Within the account's window, no time is in those of New York and San Francisco.
  fixture.api.clock.set("2026-05-01T12:00:00Z");
  const path = await launch(phone);
  await makeContact(fixture.app, kolkata.account, {
    name: "Ada",
    phone,
    phone_e164: `+1${phone}`,
    time_zone: "America/Los_Angeles",
  });
  const recipient = async () => (await recipientsAt(path))[0];
  assert.deepEqual((await recipient()).time_zones, ["America/New_York"]);
  fixture.api.clock.set("2026-05-01T14:30:00Z");
  await eventually(async () => (await recipient()).ended_reason === "night_window");
  const { state, due_at, time_zones } = await recipient();
  assert.deepEqual(
    [state, due_at, time_zones],
    ["waiting", "2026-05-02T03:30:00.000Z", ["America/Los_Angeles"]],
  );
  fixture.api.clock.set("2026-05-02T03:30:00Z");
  await eventually(async () => (await campaignAt(path)).failed === 1);
  assert.equal((await campaignAt(path)).attempts, 1);
});

test("refuses a click-to-call at the customer's night with 403, and takes one for the customer's day", async () => {
  const ask = (to_number: string, schedulled_at?: string) =>
    kolkata.ask("POST", "/api/v1/clickToCallApis/clickToCall", {
      to_number,
      from_number: "101",
      schedulled_at,
    });
  const refused = await ask(san_francisco);
  assert.equal(refused.status, 403);
  assert.match(
    refused.body.message,
    /09:00 to 21:00 \(the customer's time, America\/Los_Angeles\)$/,
  );
  assert.equal((await ask("2126777404")).status, 403, "a contact who moved to San Francisco");
  assert.equal((await ask(san_francisco, "2026-05-02T03:30:00Z")).status, 200);
  assert.equal((await ask(new_york)).status, 200);
  // Night calling is at any time, as before.
  await setCalling(fixture.app, kolkata.account, { night_calling: true });
  assert.equal((await ask(california)).status, 200);
  await setCalling(fixture.app, kolkata.account, { night_calling: false });
});

test("does not place a click-to-call that was accepted for the customer's day but is due at night", async () => {
  const { app, api } = fixture;
  await setCalling(app, kolkata.account, { night_calling: true });
  const campaign = await kolkata.call({
    to_number: "6506777404",
    from_number: "101",
    schedulled_at: "2026-05-01T14:40:00Z",
  });
  await setCalling(app, kolkata.account, { night_calling: false });
  api.clock.set("2026-05-01T14:40:00Z");
  const record = await kolkata.awaitCall(campaign, "canceled");
  assert.deepEqual([record.ended_reason, record.legs], ["night_window", []]);
});
