import type { HoldReason } from "../../server/chat/holds/holds.ts";
import type { TemplateStatus } from "../api/templates.ts";
import type { Reason } from "./reason.ts";

type HoldWords = Reason & {
  /** Who ends it: a person who resumes the campaign, or who resolved the cause; or it ends by itself. */
  readonly ends: "resume" | "lift" | "by_itself";
};

/** Why a chat campaign is paused. */
export const hold_words: Readonly<Record<HoldReason, HoldWords>> = {
  auth: {
    label: "WhatsApp refuses our access",
    text: "The access token of the business account is invalid or lacks a permission.",
    advice: "An operator renews the WhatsApp credential; then continue here.",
    ends: "lift",
  },
  sender_restricted: {
    label: "The sending number is restricted",
    text: "WhatsApp restricts the number or its business account.",
    advice: "Resolve it in Meta's Business Manager, then continue here.",
    ends: "lift",
  },
  template_paused: {
    label: "The template may not be sent",
    text: "WhatsApp does not approve the template at present.",
    advice: "Look at the template for the reason.",
    ends: "lift",
  },
  template_changed: {
    label: "The template has changed",
    text: "The template was edited, and the campaign's messages no longer fit it.",
    advice: "Change the template back, or cancel and send a new campaign.",
    ends: "by_itself",
  },
  credit: {
    label: "The credit is used up",
    text: "The account has no credit left for these messages.",
    advice: "Sending continues as soon as credit is added.",
    ends: "by_itself",
  },
  error_threshold: {
    label: "Too many messages fail",
    text: "Too large a share of the last messages failed, so sending stopped to protect your number.",
    advice: "Look at the reasons below. Resume when the cause is resolved.",
    ends: "resume",
  },
  manual: {
    label: "Paused by a person",
    text: "Someone in your account paused it.",
    advice: "Resume it to continue.",
    ends: "resume",
  },
  throttled: {
    label: "WhatsApp asks for a break",
    text: "WhatsApp asked the sending number to wait.",
    advice: "Sending continues by itself.",
    ends: "by_itself",
  },
  quiet_time: {
    label: "Quiet time",
    text: "The account sends no messages at this time of day.",
    advice: "Sending continues by itself when the quiet time ends.",
    ends: "by_itself",
  },
};

/** Why a template that may not be sent keeps campaigns back, by its status. */
export const template_hold_words: Readonly<Record<TemplateStatus, Reason>> = {
  PENDING: {
    label: "The template is in review",
    text: "WhatsApp reviews the template, mostly within minutes, sometimes a day.",
    advice: "Sending continues when WhatsApp approves it.",
  },
  APPROVED: {
    label: "The template was approved again",
    text: "WhatsApp approved the template, but its content has not been fetched since.",
    advice: "Sending continues within minutes if the messages still fit it.",
  },
  REJECTED: {
    label: "The template was rejected",
    text: "WhatsApp refused the template.",
    advice: "Submit a corrected one under another name, and send a new campaign with it.",
  },
  PAUSED: {
    label: "The template is paused",
    text: "WhatsApp paused the template because too many people gave negative feedback.",
    advice: "Sending continues when WhatsApp approves it again.",
  },
  DISABLED: {
    label: "The template is disabled",
    text: "The template is no longer at WhatsApp, or was blocked for good.",
    advice: "Submit another one, and send a new campaign with it.",
  },
};
