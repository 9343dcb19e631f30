// The event catalogue: every event type that callbacks, live events and the console receive, with its fields.
import Type, { type Static } from "typebox";
import { id, mapOf, nullable } from "../lib/schemas.ts";
import { count, maybe, seconds, text, time, word } from "./event-fields.ts";
import { chatEvents } from "./chat-events.ts";
import { voiceEvents } from "./voice-events.ts";

/** The response of lead creation, with ids only. */
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
  customFields: mapOf(Type.Unknown()),
  createdBy: id("User id"),
};

/** The fields of every call event. */
const call = {
  call_id: id("One attempt: a retry is a call of its own"),
  campaign_id: id("The campaignId that the submission returned"),
  reference: maybe("As sent"),
  attempt: count("1 for the first"),
  from_number: text("As in the call record"),
  to_number: text("The customer's number, as sent"),
  status: text("As in the call record"),
};

const leg = word(["agent", "customer", "transfer"], "Whose phone");
const recording_url = "The path of the recording";

const callEvents = {
  "call.initiated": { summary: "A call is being placed.", data: Type.Object(call) },
  "call.incoming": {
    summary: "A person calls one of the numbers, and the call is being answered.",
    data: Type.Object(call),
  },
  "call.ringing": { summary: "A phone rings.", data: Type.Object({ ...call, leg }) },
  "call.answered": { summary: "A phone was answered.", data: Type.Object({ ...call, leg }) },
  "call.dtmf": {
    summary: "A key was pressed.",
    data: Type.Object({ ...call, leg, digit: Type.String() }),
  },
  "call.bridged": {
    summary: "Agent and customer were connected.",
    data: Type.Object({ ...call, agent_number: text("An extension, or a phone's digits") }),
  },
  "call.transferring": {
    summary: "A transfer began: an extension or agent is ringing.",
    data: Type.Object({
      ...call,
      by: word(["agent", "customer", "api", "system"], "Who requested it"),
      to: text("An extension, or a phone's digits"),
    }),
  },
  "call.transferred": {
    summary: "A transfer was answered: the customer is connected to its target.",
    data: Type.Object({ ...call, transferred_to: text("An extension, or a phone's digits") }),
  },
  "call.recording.ready": {
    summary: "The recording of a call is available.",
    data: Type.Object({ ...call, recording_url: text(recording_url) }),
  },
  "call.completed": {
    summary: "A call ended, with any outcome; the timestamp is its end.",
    data: Type.Object({
      ...call,
      type: word(["click_to_call", "voice_campaign", "incoming"], "What the call was part of"),
      source: maybe("As sent"),
      remark: maybe("As sent"),
      disposition: maybe("The result: answered, abandoned, voicemail_left, busy, no_answer, …"),
      ended_reason: maybe("Why it ended: hung_up, customer_busy, credit, …"),
      ended_by: nullable(word(["agent", "customer", "system", "api"], "Who ended it")),
      answered_by: word(["human", "machine", "unknown"], "Who answered"),
      answered_at: time("UTC: when the customer answered"),
      ring_seconds: seconds("How long the customer's phone rang"),
      talk_seconds: seconds("From the customer's answer to the end"),
      billed_seconds: seconds("Started pulses of every answered leg"),
      hangup_cause_q850: nullable(Type.Integer()),
      sip_status: nullable(Type.Integer()),
      dtmf: text("The keys that the customer pressed"),
      collected: mapOf(Type.String(), {
        description: "What the caller entered or said, by variable",
      }),
      recording_url: maybe(recording_url),
      callback_at: time("UTC: when the caller asked to be called again"),
      opted_out: Type.Boolean({ description: "The caller asked never to be called again" }),
      retry_at: time("UTC: when the call is retried automatically"),
    }),
  },
  "call.missed": {
    summary:
      "A person called one of the numbers, and the call was refused, or ended while the caller waited for an agent.",
    data: Type.Object({
      phone_number: maybe("Who called: digits with country code; null: withheld"),
      called_number: text("The number that was called, as the carrier sends it"),
      trunk_id: id("The trunk over which the call came"),
    }),
  },
};

/** Every event type with its fields: the only list. Fields may be added, but never removed or changed. */
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
    summary:
      "Available credit fell below the account's threshold; sent once until more is granted.",
    data: Type.Object({
      kind: word(["chat", "call"], "The kind of credit"),
      available: Type.Integer({ format: "int64" }),
      threshold: Type.Integer({ format: "int64", description: "The account's setting" }),
    }),
  },
  "callback.endpoint.disabled": {
    summary: "A callback endpoint was disabled: it receives nothing until a user enables it.",
    data: Type.Object({
      endpoint_id: id("Endpoint id"),
      url: Type.String(),
      reason: word(["manual", "failing", "gone"], "gone: the endpoint responded with 410"),
    }),
  },
  "callback.test": {
    summary: "A user requested a test; sent only to the endpoint that it names.",
    data: Type.Object({ endpoint_id: id("Endpoint id"), message: Type.String() }),
  },
};

/** The event types. */
export type EventType = keyof typeof eventCatalogue;

/** The data of an event of this type, as it is stored. */
export type EventData<Type extends EventType> = Static<(typeof eventCatalogue)[Type]["data"]>;
