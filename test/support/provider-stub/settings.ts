/**
 * How webhooks are posted. normal: in order. duplicated: each twice. reordered: read may come before sent. late: after
 * `late_ms`. before_answer: `sent` is posted and confirmed before the response to the message.
 */
export type WebhookOrder = "normal" | "duplicated" | "reordered" | "late" | "before_answer";

export type StubNumber = {
  readonly phone_number_id: string;
  readonly business_account_id: string;
  /** In Meta's format: +91 98765 43210. */
  readonly display_phone_number: string;
  readonly verified_name: string;
  readonly quality_rating: string;
  /** ONBOARDED or anything else. */
  readonly marketing_messages_onboarding_status: string;
};

/** Settings that can be changed while the stub runs. */
export type StubSettings = {
  readonly access_token: string;
  readonly app_secret: string;
  /** The numbers that can be looked up; any number may send. */
  readonly numbers: readonly StubNumber[];
  /** The delay between the request's last byte and the response. */
  readonly delay_ms: number;
  /** The URL that webhooks are posted to; null: none are posted. */
  readonly callback_url: string | null;
  /** The delivery statuses of an accepted message; their delays count from its acceptance. */
  readonly statuses: readonly ("sent" | "delivered" | "read")[];
  readonly sent_ms: number;
  readonly delivered_ms: number;
  readonly read_ms: number;
  readonly reply_ms: number;
  /** The most statuses in one webhook; 1 posts each separately. */
  readonly batch_max: number;
  readonly order: WebhookOrder;
  readonly late_ms: number;
  /** The delay before a webhook without a 200 response is posted again; it doubles, up to 5 s. */
  readonly retry_ms: number;
  readonly attempts_max: number;
  /** The status of a newly submitted template. */
  readonly template_status: string;
};

export const stub_number: StubNumber = {
  phone_number_id: "106540352242922",
  business_account_id: "102290129340398",
  display_phone_number: "+91 98765 00000",
  verified_name: "Stub",
  quality_rating: "GREEN",
  marketing_messages_onboarding_status: "ONBOARDED",
};

export const default_settings: StubSettings = {
  access_token: "stub-token",
  app_secret: "stub-secret",
  numbers: [stub_number],
  delay_ms: 0,
  callback_url: null,
  statuses: ["sent", "delivered", "read"],
  sent_ms: 20,
  delivered_ms: 40,
  read_ms: 80,
  reply_ms: 100,
  batch_max: 100,
  order: "normal",
  late_ms: 3_000,
  retry_ms: 200,
  attempts_max: 20,
  template_status: "PENDING",
};
