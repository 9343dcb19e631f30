// Every kind of news that callbacks, the live stream and the console can be told of, and what each tells.
import Type, { type Static } from "typebox";
import { id, nullable, timestamp } from "../lib/schemas.ts";

const text = (description: string) => Type.String({ description });
const maybe = (description: string) => nullable(text(description));
const time = (description: string) => nullable(timestamp(description));
const count = (description: string) => Type.Integer({ description });
const seconds = (description: string) => nullable(Type.Integer({ description }));
const word = <const Word extends string>(words: readonly Word[], description: string) =>
  Type.Enum(words, { type: "string", description });

/** As lead creation answers, without what the ids name. */
const lead = {
  id: id("Lead id"),
  workspaceId: id("Workspace id"),
  contactId: id("Contact id"),
  name: Type.String(),
  email: nullable(Type.String()),
  phone: text("Exactly 10 digits"),
  assignedAgentId: nullable(id("User id")),
  statusId: id("Picklist option"),
  sourceId: nullable(id("Picklist option")),
  priorityId: id("Picklist option"),
  customFields: Type.Record(Type.String(), Type.Unknown()),
  createdBy: id("User id"),
};

const chatCampaign = { campaign_id: id("Campaign id"), name: text("The campaign's name") };

const voiceCampaign = {
  campaign_id: id("The campaignId of its launch; calls name it"),
  id: Type.String({ format: "uuid", description: "The id of its launch" }),
  name: text("The campaign's name"),
};

const chatMessage = {
  campaign_id: id("Campaign id"),
  recipient_id: id("Of the campaign's recipients"),
  phone_number: text("Digits with country code"),
  provider_message_id: maybe("The provider's id of the message; null when there is none"),
  error_code: nullable(Type.Integer({ description: "The provider's number" })),
  error: maybe("Our word for what was wrong"),
  at: timestamp("UTC: when it happened, by the provider's clock where that told"),
};

const messageOf = <const Status extends string>(...statuses: Status[]) =>
  Type.Object({ ...chatMessage, status: word(statuses, "As the campaign's recipients show it") });

/** Of every call, whatever happens on it. */
const call = {
  call_id: id("One attempt: a retry is a call of its own"),
  campaign_id: id("What was submitted: the campaignId of its answer"),
  reference: maybe("As sent"),
  attempt: count("1 for the first"),
  from_number: text("As the call's report shows it"),
  to_number: text("The customer's, as sent"),
  status: text("As the call's report shows it"),
};

const leg = word(["agent", "customer", "transfer"], "Whose phone");
const recording_url = "The path of the recording";

const chatEvents = {
  "chat.campaign.created": {
    summary: "A chat campaign was submitted.",
    data: Type.Object({
      ...chatCampaign,
      status: word(["running", "scheduled"], "running: it begins at once"),
      total_contacts: count("Recipients that remain"),
      trimmed: Type.Object(
        { invalid: Type.Integer(), duplicate: Type.Integer(), blacklisted: Type.Integer() },
        { description: "What was sent and is no recipient, by reason" },
      ),
      scheduled_at: time("UTC"),
    }),
  },
  "chat.campaign.started": {
    summary: "A chat campaign begins to send, at once or at its time.",
    data: Type.Object(chatCampaign),
  },
  "chat.campaign.paused": {
    summary: "A chat campaign stopped sending until it is resumed, or its hold is lifted.",
    data: Type.Object({ ...chatCampaign, paused_reason: text("manual, error_threshold, auth, …") }),
  },
  "chat.campaign.resumed": {
    summary: "A chat campaign goes on: nothing holds it any more.",
    data: Type.Object(chatCampaign),
  },
  "chat.campaign.completed": {
    summary:
      "Nothing of a chat campaign is pending any more. Reports of deliveries may still come.",
    data: Type.Object({
      ...chatCampaign,
      total_contacts: count("Recipients"),
      sent_count: count("Taken by the provider and not failed since"),
      delivered_count: count("Delivered so far, read ones included"),
      read_count: count("Read so far"),
      failed_count: count("Failed or skipped"),
    }),
  },
  "chat.campaign.cancelled": {
    summary: "A person ended a chat campaign; what was not sent is taken back.",
    data: Type.Object(chatCampaign),
  },
  "chat.campaign.failed": {
    summary: "A chat campaign cannot go on; what was not sent is skipped.",
    data: Type.Object({ ...chatCampaign, failure: text("Our word for why") }),
  },
  "chat.message.sent": {
    summary: "A campaign's message left the provider. Recorded while an endpoint wants it.",
    data: messageOf("sent"),
  },
  "chat.message.delivered": {
    summary: "A campaign's message reached the phone. Recorded while an endpoint wants it.",
    data: messageOf("delivered"),
  },
  "chat.message.read": {
    summary: "A campaign's message was read. Recorded while an endpoint wants it.",
    data: messageOf("read"),
  },
  "chat.message.failed": {
    summary: "A campaign's message failed, or was never sent. Recorded while an endpoint wants it.",
    data: messageOf("failed", "skipped"),
  },
  "chat.optout": {
    summary: "A customer wants no more messages.",
    data: Type.Object({
      phone_number: text("Digits with country code"),
      source: word(["reply", "provider"], "reply: they answered with a stop word"),
      chat_number_id: id("The number they answered to"),
      reply_id: nullable(id("Their reply")),
      campaign_id: nullable(id("Of the message that they answered")),
      recipient_id: nullable(id("Of the message that they answered")),
    }),
  },
  "chat.template.updated": {
    summary: "The provider judges a template otherwise than before.",
    data: Type.Object({
      template_id: id("Template id"),
      name: Type.String(),
      language: Type.String(),
      status: text("APPROVED, PENDING, REJECTED, PAUSED, DISABLED, …"),
      quality: text("GREEN, YELLOW, RED or UNKNOWN"),
      category: text("MARKETING, UTILITY or AUTHENTICATION"),
      rejection_reason: maybe("In the provider's words"),
    }),
  },
};

const voiceEvents = {
  "voice.campaign.created": {
    summary: "A voice campaign was launched.",
    data: Type.Object({
      ...voiceCampaign,
      total: count("Recipients"),
      rejected: count("Of what was sent, no phone numbers"),
      duplicates: count("Of what was sent, numbers that had come before"),
      scheduled_at: time("UTC"),
    }),
  },
  "voice.campaign.started": {
    summary: "A voice campaign begins, at once or at its time.",
    data: Type.Object(voiceCampaign),
  },
  "voice.campaign.paused": {
    summary: "A voice campaign places no calls until it is resumed.",
    data: Type.Object({
      ...voiceCampaign,
      paused_reason: word(["manual", "error_threshold", "credit"], "Why"),
      detail: maybe("What there is to know of it"),
    }),
  },
  "voice.campaign.resumed": {
    summary: "A person let a voice campaign go on.",
    data: Type.Object(voiceCampaign),
  },
  "voice.campaign.completed": {
    summary: "Everybody of a voice campaign was called, or is not to be called.",
    data: Type.Object({
      ...voiceCampaign,
      total: count("Recipients: the sum of the following"),
      answered: count("A person answered"),
      machine: count("A machine answered"),
      busy: count("Busy, at the last attempt"),
      no_answer: count("Did not answer, at the last attempt"),
      failed: count("Could not be called"),
      suppressed: count("Not to be called"),
      cancelled: count("Taken back before they were called"),
      attempts: count("Calls placed"),
      cost: count("Call credits that they came to"),
      talk_seconds: count("Of all calls"),
    }),
  },
  "voice.campaign.cancelled": {
    summary: "A person ended a voice campaign; calls under way go on to their end.",
    data: Type.Object(voiceCampaign),
  },
};

const callEvents = {
  "call.initiated": { summary: "A call is being placed.", data: Type.Object(call) },
  "call.ringing": { summary: "A phone rings.", data: Type.Object({ ...call, leg }) },
  "call.answered": { summary: "A phone was answered.", data: Type.Object({ ...call, leg }) },
  "call.dtmf": {
    summary: "A key was pressed.",
    data: Type.Object({ ...call, leg, digit: Type.String() }),
  },
  "call.bridged": {
    summary: "Agent and customer talk.",
    data: Type.Object({ ...call, agent_number: text("An extension, or a phone's digits") }),
  },
  "call.transferring": {
    summary: "An extension or agent is rung to take the customer over.",
    data: Type.Object({
      ...call,
      by: word(["agent", "customer", "api", "system"], "Who asked for it"),
      to: text("An extension, or a phone's digits"),
    }),
  },
  "call.transferred": {
    summary: "The customer talks to whom they were put through to.",
    data: Type.Object({ ...call, transferred_to: text("An extension, or a phone's digits") }),
  },
  "call.recording.ready": {
    summary: "The recording of a call can be had.",
    data: Type.Object({ ...call, recording_url: text(recording_url) }),
  },
  "call.completed": {
    summary: "A call is over, whatever it came to; the timestamp is when it ended.",
    data: Type.Object({
      ...call,
      type: word(["click_to_call", "voice_campaign"], "What it was part of"),
      source: maybe("As sent"),
      remark: maybe("As sent"),
      disposition: maybe("What it came to: answered, busy, no_answer, declined, …"),
      ended_reason: maybe("Why it ended: hung_up, customer_busy, credit, …"),
      ended_by: nullable(word(["agent", "customer", "system", "api"], "Who ended it")),
      answered_by: word(["human", "machine", "unknown"], "Who answered"),
      answered_at: time("UTC: when the customer answered"),
      ring_seconds: seconds("How long the customer was called"),
      talk_seconds: seconds("From the customer's answer to the end"),
      billed_seconds: seconds("Started pulses of every answered leg"),
      hangup_cause_q850: nullable(Type.Integer()),
      sip_status: nullable(Type.Integer()),
      dtmf: text("The keys that the customer pressed"),
      collected: Type.Record(Type.String(), Type.String(), {
        description: "What the caller entered or told, by variable",
      }),
      recording_url: maybe(recording_url),
      callback_at: time("UTC: when the caller asked to be called again"),
      opted_out: Type.Boolean({ description: "The caller asked never to be called again" }),
      retry_at: time("UTC: when it is tried again by itself"),
    }),
  },
};

/** Every type with what it tells: the only list of them. Fields may be added, none goes or changes. */
export const eventCatalogue = {
  "lead.created": { summary: "A lead was created.", data: Type.Object(lead) },
  "lead.updated": {
    summary: "A lead was changed.",
    data: Type.Object({
      ...lead,
      collaborators: Type.Array(id("User id")),
      changed: Type.Array(Type.String(), { description: "The fields that changed" }),
    }),
  },
  ...chatEvents,
  ...voiceEvents,
  ...callEvents,
  "credit.low": {
    summary: "Less credit is available than the account wants; told once until more is granted.",
    data: Type.Object({
      kind: word(["chat", "call"], "Of which credit"),
      available: Type.Integer({ format: "int64" }),
      threshold: Type.Integer({ format: "int64", description: "The account's setting" }),
    }),
  },
  "callback.endpoint.disabled": {
    summary: "Callbacks to an endpoint stopped until a person enables it.",
    data: Type.Object({
      endpoint_id: id("Endpoint id"),
      url: Type.String(),
      reason: word(["manual", "failing", "gone"], "gone: it answered 410"),
    }),
  },
  "callback.test": {
    summary: "A person asked for a test; told only to the endpoint that it names.",
    data: Type.Object({ endpoint_id: id("Endpoint id"), message: Type.String() }),
  },
};

/** Every kind of news that callbacks and the console can be told of (design: Callbacks). */
export type EventType = keyof typeof eventCatalogue;

/** What news of a type tells, as it is stored. */
export type EventData<Told extends EventType> = Static<(typeof eventCatalogue)[Told]["data"]>;
