// The events of voice campaigns in the event catalogue.
import Type from "typebox";
import { id, nullable } from "../lib/schemas.ts";
import { count, maybe, text, time, word } from "./event-fields.ts";

const voiceCampaign = {
  campaign_id: id("The campaignId of its launch; calls name it"),
  id: Type.String({ format: "uuid", description: "The id of its launch" }),
  name: text("The campaign's name"),
};

/** The event types of voice campaigns, with their fields. */
export const voiceEvents = {
  "voice.campaign.created": {
    summary: "A voice campaign was launched.",
    data: Type.Object({
      ...voiceCampaign,
      total: count("Recipients"),
      rejected: count("Entries without a valid phone number"),
      duplicates: count("Entries that repeat a number"),
      scheduled_at: time("UTC"),
    }),
  },
  "voice.campaign.started": {
    summary: "A voice campaign started, immediately or at its scheduled time.",
    data: Type.Object(voiceCampaign),
  },
  "voice.campaign.paused": {
    summary: "A voice campaign was paused: it places no calls until it is resumed.",
    data: Type.Object({
      ...voiceCampaign,
      paused_reason: word(["manual", "error_threshold", "credit", "trunk"], "The reason"),
      detail: maybe("Details of the reason"),
    }),
  },
  "voice.campaign.trunk_changed": {
    summary:
      "A voice campaign continues over another trunk, or with another caller ID: over the fall-back trunk that was named, or because a user resumed it after its trunk could no longer be used.",
    data: Type.Object({
      ...voiceCampaign,
      trunk: text("The name of the trunk"),
      caller_id: maybe("The caller ID that recipients see; null: the carrier sets one"),
      previous_trunk: maybe("The name of the trunk before; null if it was deleted"),
      previous_caller_id: maybe("The caller ID before"),
      reason: text("Why the trunk or the caller ID before could not be used"),
    }),
  },
  "voice.campaign.resumed": {
    summary: "A user resumed a voice campaign.",
    data: Type.Object(voiceCampaign),
  },
  "voice.campaign.retried": {
    summary: "A user retried failed recipients of a voice campaign; an ended campaign runs again.",
    data: Type.Object({ ...voiceCampaign, retried: count("Recipients that are called again") }),
  },
  "voice.campaign.completed": {
    summary: "A voice campaign has no recipient left to call.",
    data: Type.Object({
      ...voiceCampaign,
      total: count("Recipients: the sum of the following"),
      answered: count("A person answered"),
      machine: count("A machine answered"),
      busy: count("Busy, at the last attempt"),
      no_answer: count("Did not answer, at the last attempt"),
      failed: count("Could not be called"),
      suppressed: count("Suppressed: not called"),
      skipped: count("Not called, or not called again, for another reason"),
      cancelled: count("Cancelled before they were called"),
      attempts: count("Calls placed"),
      cost: count("Call credits spent"),
      talk_seconds: count("Sum over all calls"),
      live_answers: count("Calls that a person answered"),
      abandoned: count(
        "Calls that a person answered and who asked for an agent, and that ended without one",
      ),
      abandonment_rate: nullable(
        Type.Number({ description: "abandoned / live_answers; null without live answers" }),
      ),
    }),
  },
  "voice.campaign.cancelled": {
    summary:
      "A user cancelled a voice campaign, or a test call was not placed in time; calls in progress continue to their end.",
    data: Type.Object(voiceCampaign),
  },
};
