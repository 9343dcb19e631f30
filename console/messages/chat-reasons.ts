// Why messages failed, were skipped or wait, and why campaigns failed, as sentences with what helps.
import type { Reason } from "./reason.ts";

type RecipientReason = Reason & {
  /** Another attempt can succeed, so the button to retry stands beside it. */
  readonly retry: boolean;
};

/** Why a recipient failed, was skipped or is deferred, by `error`. */
export const recipient_reasons: Readonly<Record<string, RecipientReason>> = {
  undeliverable: {
    label: "Not reachable on WhatsApp",
    text: "WhatsApp could not deliver to this number. Usually it has no WhatsApp, or an app that is too old.",
    advice: "Check the numbers, reach these people another way, or suppress them.",
    retry: false,
  },
  opted_out: {
    label: "Opted out",
    text: "This person asked WhatsApp to receive no marketing from you. They are suppressed now.",
    advice: null,
    retry: false,
  },
  suppressed: {
    label: "Suppressed",
    text: "The person was added to the suppression list after the campaign was created, so nothing was sent.",
    advice: null,
    retry: false,
  },
  duplicate: {
    label: "Same person twice",
    text: "The campaign lists this person under two phone numbers of one WhatsApp account, or under a phone number and a WhatsApp user ID. Only one of them is used.",
    advice: null,
    retry: false,
  },
  campaign_failed: {
    label: "Campaign failed first",
    text: "The campaign failed as a whole before this message was sent.",
    advice: "Resolve why the campaign failed, then retry.",
    retry: true,
  },
  missing_variable: {
    label: "A variable has no value",
    text: "The message has a placeholder for which this person has no value, and there is no default.",
    advice: "Give the template a default, and send a new campaign with the missing values.",
    retry: false,
  },
  invalid_parameter: {
    label: "Rejected content",
    text: "WhatsApp rejected the content of this message, for example a value that is too long.",
    advice: "Check the values of the variables, and send a new campaign to these people.",
    retry: false,
  },
  provider_error: {
    label: "Error at WhatsApp",
    text: "WhatsApp reported an error that it does not explain.",
    advice: "Retry after a while. If it happens again, ask Meta's support.",
    retry: true,
  },
  pair_limited: {
    label: "Too many messages to one person",
    text: "WhatsApp limits how fast one number may write to the same person.",
    advice: "Retry later.",
    retry: true,
  },
  frequency_capped: {
    label: "Marketing limit reached",
    text: "WhatsApp limits how much marketing each person receives, from all businesses together.",
    advice: "Retry in a few days, or send a utility template.",
    retry: true,
  },
  experiment_group: {
    label: "In a WhatsApp experiment",
    text: "WhatsApp does not deliver marketing to this person, who is in one of its experiments.",
    advice: "Wait until the person writes to you, or reach them another way.",
    retry: false,
  },
  outside_window: {
    label: "Outside the 24-hour window",
    text: "More than 24 hours have passed since this person's last message; only templates are allowed.",
    advice: "Send them a campaign with a template.",
    retry: false,
  },
  same_number: {
    label: "The sending number itself",
    text: "The recipient is the number that the campaign is sent from.",
    advice: "Remove it from your list.",
    retry: false,
  },
  not_allowed_recipient: {
    label: "Not on the test list",
    text: "A test number of WhatsApp may only write to people on its list.",
    advice: "Add the recipient in Meta's settings, or send from a real number.",
    retry: true,
  },
  media_failed: {
    label: "Media could not be loaded",
    text: "WhatsApp could not load the image, video or document of the message.",
    advice: "Check the template's media: its address must be public. Then retry.",
    retry: true,
  },
  marketing_route_required: {
    label: "Marketing route required",
    text: "WhatsApp requires its marketing route for this message, and the number may not use it.",
    advice: "Accept Meta's terms for the marketing route, then retry.",
    retry: true,
  },
  template_not_ready: {
    label: "Template not ready yet",
    text: "WhatsApp's marketing route needs up to 10 minutes to prepare a template that is new or was not used for a week.",
    advice: "Sending continues by itself. If it fails, check the values of the variables.",
    retry: true,
  },
  template_not_marketing: {
    label: "Template no longer marketing",
    text: "WhatsApp's marketing route takes marketing templates only, and WhatsApp gave the template another category.",
    advice:
      "Sending continues by itself once the new category is known here, unless WhatsApp required the route. If it fails, retry.",
    retry: true,
  },
  template_unusable: {
    label: "Template unusable",
    text: "WhatsApp no longer accepts the template: it was deleted, disabled or rejected.",
    advice: "Choose another template, and send a new campaign.",
    retry: false,
  },
  template_paused: {
    label: "Template paused",
    text: "WhatsApp paused the template because too many people gave negative feedback.",
    advice: "Wait until WhatsApp resumes it. Sending continues by itself.",
    retry: true,
  },
  sender_restricted: {
    label: "Number restricted",
    text: "WhatsApp restricts the sending number or its business account.",
    advice: "Look at the account's state in Meta's Business Manager.",
    retry: true,
  },
  auth: {
    label: "Access refused",
    text: "WhatsApp refuses our access token.",
    advice: "An operator has to renew the WhatsApp credential. Then retry.",
    retry: true,
  },
  throttled: {
    label: "Sent too fast",
    text: "WhatsApp asked for a lower rate.",
    advice: "Sending slows down and continues by itself.",
    retry: true,
  },
  unreachable: {
    label: "WhatsApp not reachable",
    text: "No connection to WhatsApp could be made. Nothing was sent.",
    advice: "Sending continues by itself as soon as there is a connection.",
    retry: true,
  },
  outcome_unknown: {
    label: "Outcome unknown",
    text: "The connection broke before WhatsApp answered. The person may have the message or not.",
    advice:
      "It is never resent by itself, so that no person gets it twice. Send it again only if a second copy does no harm.",
    retry: false,
  },
};

/** Why a campaign failed as a whole, by `failure`. */
export const campaign_failures: Readonly<Record<string, Reason>> = {
  template_unusable: recipient_reasons["template_unusable"]!,
};
