// What a chat provider must do for us. Every driver passes the same contract suite. A driver knows
// no feature, no SQL and no jobs: it sends one message, and tells what a provider's report says.

/** The number a message goes out from, in the provider's own ids. */
export type ChatSender = {
  readonly phone_number_id: string;
  readonly business_account_id: string;
};

/** A value of a template's placeholder; `name` only where the template's parameters are named. */
export type TextValue = { readonly name?: string; readonly text: string };

export type MediaKind = "image" | "video" | "document";
/** By the provider's media id, or by a public address. */
export type Media = {
  readonly kind: MediaKind;
  readonly id?: string;
  readonly link?: string;
  /** Of a document. */
  readonly filename?: string;
};

/** What one of a template's buttons is given, at its index among the template's buttons. */
export type ButtonValue =
  | { readonly type: "quick_reply"; readonly index: number; readonly payload: string }
  | { readonly type: "url"; readonly index: number; readonly suffix: string }
  | { readonly type: "copy_code"; readonly index: number; readonly code: string }
  | {
      readonly type: "flow";
      readonly index: number;
      readonly flow_token: string;
      readonly flow_action_data?: Readonly<Record<string, unknown>>;
    };

export type TemplateMessage = {
  readonly kind: "template";
  readonly name: string;
  readonly language: string;
  /** A text or a media header's value; null where the header is fixed or absent. */
  readonly header: { readonly text: TextValue } | { readonly media: Media } | null;
  /** In the order of the template's placeholders. */
  readonly body: readonly TextValue[];
  readonly buttons: readonly ButtonValue[];
};

/** Only deliverable within 24 hours of the customer's last message. */
export type InteractiveMessage = {
  readonly kind: "interactive";
  readonly header: string | null;
  readonly body: string;
  readonly footer: string | null;
  readonly action:
    | { readonly type: "none" }
    | { readonly type: "buttons"; readonly buttons: readonly { id: string; title: string }[] }
    | {
        readonly type: "list";
        readonly button: string;
        readonly sections: readonly {
          title: string;
          rows: readonly { id: string; title: string; description?: string }[];
        }[];
      }
    | {
        readonly type: "flow";
        readonly flow_id: string;
        readonly cta: string;
        readonly flow_token: string;
        readonly screen?: string;
        readonly data?: Readonly<Record<string, unknown>>;
      };
};

export type OutgoingMessage = TemplateMessage | InteractiveMessage;

export type Outgoing = {
  /** Ours, at most 512 characters, never used twice; comes back on every status report. */
  readonly message_id: string;
  /** Digits with country code. */
  readonly to: string;
  readonly message: OutgoingMessage;
  /** `marketing` only for marketing templates of an onboarded business account. */
  readonly route: "standard" | "marketing";
  /** By performance.now(): what has not begun by then, for want of a connection, must not begin any more. */
  readonly begin_by_ms?: number;
};

/** The provider took the message; this is never its delivery. */
export type Accepted = { readonly provider_message_id: string };

/**
 * What is known of a message that was not accepted:
 * - `rejected`: the provider said no; `code` says why. It will not be delivered.
 * - `throttled`: the provider said not now, for `retry_after_ms` if it said how long.
 * - `unreachable`: the request never left, so it may be repeated.
 * - `unknown`: it may have been taken: a time-out, a cut connection, an answer that makes no sense.
 */
export type SendFailure = "rejected" | "throttled" | "unreachable" | "unknown";

export class ChatSendError extends Error {
  override readonly name = "ChatSendError";
  readonly failure: SendFailure;
  /** The provider's error code (Meta's numbers), where there is one. */
  readonly code: number | null;
  readonly retry_after_ms: number | null;
  constructor(
    failure: SendFailure,
    message: string,
    more: { code?: number; retry_after_ms?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.failure = failure;
    this.code = more.code ?? null;
    this.retry_after_ms = more.retry_after_ms ?? null;
  }
}

export type TemplateStatus = "PENDING" | "APPROVED" | "REJECTED" | "PAUSED" | "DISABLED";
export type TemplateCategory = "MARKETING" | "UTILITY" | "AUTHENTICATION";
export type TemplateQuality = "GREEN" | "YELLOW" | "RED" | "UNKNOWN";

/** A component as Meta spells it: HEADER, BODY, FOOTER, BUTTONS with their `format`, `text`, `buttons`, `example`. */
export type TemplateComponent = {
  readonly type: "HEADER" | "BODY" | "FOOTER" | "BUTTONS";
  readonly [field: string]: unknown;
};

export type TemplateDraft = {
  readonly name: string;
  readonly language: string;
  readonly category: TemplateCategory;
  readonly parameter_format: "POSITIONAL" | "NAMED";
  readonly components: readonly TemplateComponent[];
};

export type ProviderTemplate = TemplateDraft & {
  readonly provider_template_id: string;
  readonly status: TemplateStatus;
  readonly quality: TemplateQuality;
  readonly rejection_reason: string | null;
};

/** What the provider says of a number and its business account. */
export type ProviderNumber = {
  readonly phone_number_id: string;
  /** Digits with country code. */
  readonly phone_number: string;
  readonly name: string;
  readonly quality: TemplateQuality;
  /** May marketing templates take the marketing route? */
  readonly marketing_onboarded: boolean;
};

/** One piece of news in a provider's webhook. */
export type Report =
  | {
      readonly kind: "status";
      readonly provider_message_id: string;
      /** Our message id, when the provider sent it back. */
      readonly message_id: string | null;
      readonly status: "sent" | "delivered" | "read" | "failed";
      readonly at: Date;
      readonly code: number | null;
    }
  | {
      readonly kind: "reply";
      readonly provider_message_id: string;
      /** Digits with country code. */
      readonly from: string;
      readonly at: Date;
      /** text, button, interactive, image, … as the provider names it. */
      readonly type: string;
      readonly text: string | null;
      /** A button's payload or a chosen row's id. */
      readonly payload: string | null;
      /** The message of ours it answers. */
      readonly answers: string | null;
    }
  | {
      readonly kind: "preference";
      readonly from: string;
      readonly at: Date;
      readonly stop: boolean;
    }
  | {
      readonly kind: "template";
      readonly provider_template_id: string;
      readonly status?: TemplateStatus;
      readonly quality?: TemplateQuality;
      readonly category?: TemplateCategory;
      readonly reason?: string;
    }
  /** Something about the business account that a person should see: a ban, a restriction, a limit. */
  | { readonly kind: "account"; readonly event: string };

/** The reports about one number, or (without `phone_number_id`) about a whole business account. */
export type ReportBatch = {
  readonly phone_number_id: string | null;
  readonly business_account_id: string | null;
  readonly reports: readonly Report[];
};

export type ChatDriver = {
  /**
   * Sends once. Throws ChatSendError and nothing else. `signal` gives up: with outcome unknown, or
   * unreachable when nothing had been sent yet.
   */
  send(from: ChatSender, outgoing: Outgoing, signal?: AbortSignal): Promise<Accepted>;
  /** All templates of the business account. */
  listTemplates(businessAccountId: string): Promise<readonly ProviderTemplate[]>;
  /** Submits a template for approval. Throws ChatSendError. */
  createTemplate(businessAccountId: string, draft: TemplateDraft): Promise<ProviderTemplate>;
  deleteTemplate(businessAccountId: string, name: string): Promise<void>;
  findNumber(from: ChatSender): Promise<ProviderNumber>;
  /** Stores a file with the provider and returns its media id. */
  uploadMedia(
    from: ChatSender,
    file: { bytes: Buffer; mime_type: string; name: string },
  ): Promise<string>;
  /** The reports in a stored webhook body; what it does not know is left out, never thrown at. */
  readWebhook(body: unknown): readonly ReportBatch[];
  /** Ends idle connections and timers. */
  close(): Promise<void>;
};

/** What a provider that posts its webhooks over HTTP adds: is it really the provider? */
export type WebhookGuard = {
  /** Did the provider sign these very bytes? `raw` is the body as it came, never JSON written anew. */
  verifySignature(raw: Buffer, header: string | undefined): boolean;
  /** The answer to the provider's subscription request, or null when it does not know our token. */
  answerChallenge(query: Readonly<Record<string, unknown>>): string | null;
};

/** The name of a driver, as chat numbers store it. */
export const chat_driver_names = ["sandbox", "whatsapp"] as const;
export type ChatDriverName = (typeof chat_driver_names)[number];

/** What this process has; `whatsapp` is absent until its credentials are configured. */
export type ChatDrivers = {
  readonly sandbox?: ChatDriver;
  readonly whatsapp?: ChatDriver & WebhookGuard;
};
