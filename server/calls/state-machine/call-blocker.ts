/** Why a call must not be placed, or its customer must not be called. */
export type CallBlocker =
  | "suppressed"
  /** The customer is on another live call. */
  | "already_in_call"
  /** Outside the account's window, by its own clock or the customer's. */
  | "night_window"
  /** The customer was called as often as the account allows in a day. */
  | "calls_per_customer_day"
  /** The operator's cap on legs or credits of the account, of the token, or on legs to a phone number. */
  | "account_cap"
  | "token_cap"
  | "number_cap"
  /** The account lost the feature, or the trunk. */
  | "not_allowed"
  /** Numbers of this kind, such as premium rate, are never called. */
  | "number_barred"
  /** The account or the trunk may not call the number's country. */
  | "destination_not_allowed"
  /** The account may not show the requested caller ID any more. */
  | "caller_id_not_allowed"
  /** It waited for too long. */
  | "too_late"
  /** Its campaign was paused or cancelled. */
  | "held"
  /** Its node was out of contact, so that no phone rang. */
  | "node_unavailable"
  /** The AI agent could not be set up. */
  | "ai_agent_unavailable"
  /** TTS did not work, or rejected a prompt that is the same for every recipient. */
  | "speech_unavailable"
  /** TTS rejected a prompt with the recipient's variables, and synthesized others. */
  | "speech_rejected";
