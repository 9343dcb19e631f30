import type { TemplateStatus } from "../api/templates.ts";
import type { Tone } from "../ui/badge.tsx";

/** What a template's state means, and what helps. */
export const template_statuses: Readonly<
  Record<TemplateStatus, { readonly label: string; readonly tone: Tone; readonly text: string }>
> = {
  PENDING: {
    label: "In review",
    tone: "busy",
    text: "WhatsApp reviews it, mostly within minutes, sometimes a day. Campaigns can use it then.",
  },
  APPROVED: { label: "Approved", tone: "good", text: "Campaigns can use it." },
  REJECTED: {
    label: "Rejected",
    tone: "bad",
    text: "WhatsApp refused it. Submit a corrected one under another name.",
  },
  PAUSED: {
    label: "Paused",
    tone: "warning",
    text: "WhatsApp paused it because recipients blocked or reported it. It continues by itself after hours; send it to fewer, more interested people.",
  },
  DISABLED: {
    label: "Disabled",
    tone: "neutral",
    text: "It is no longer at WhatsApp, or was blocked for good. Submit another one.",
  },
};

/** WhatsApp's rating of a template, from what recipients do with it. */
export const template_qualities: Readonly<Record<string, string>> = {
  GREEN: "High",
  YELLOW: "Medium",
  RED: "Low",
  UNKNOWN: "Not rated yet",
};

/** Meta's reasons for a rejection, in a sentence. */
export const rejection_reasons: Readonly<Record<string, string>> = {
  ABUSIVE_CONTENT: "It reads as threatening or abusive.",
  INCORRECT_CATEGORY: "Its content belongs to another category, mostly Marketing.",
  INVALID_FORMAT:
    "A variable is misplaced or lacks an example: text must stand before, after and between variables.",
  PROMOTIONAL: "It advertises, which its category does not allow. Submit it as Marketing.",
  SCAM: "It looks like a deception. Name your business and link to your own domain.",
  TAG_CONTENT_MISMATCH: "Its language or category does not fit its content.",
  LOW_QUALITY: "Too many recipients blocked or reported it.",
};
