// The interface of chat drivers. Every driver passes the same contract suite. A driver knows no feature,
// SQL or job: it sends one message at a time and parses the provider's webhooks.

/** The number that sends a message, by the provider's IDs. */
export type ChatSender = {
  readonly phone_number_id: string;
  readonly business_account_id: string;
};

/** A value of a template's placeholder; `name` only where the template's parameters are named. */
export type TextValue = { readonly name?: string; readonly text: string };

export type MediaKind = "image" | "video" | "document";
/** Media, by the provider's media ID or by a public URL. */
export type Media = {
  readonly kind: MediaKind;
  readonly id?: string;
  readonly link?: string;
  /** For documents only. */
  readonly filename?: string;
};

/** The value of one button of a template, by the button's index. */
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

/** A message that is deliverable only within 24 hours of the customer's last message. */
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
  /** Our ID of at most 512 characters, never reused; the provider returns it with every delivery status. */
  readonly message_id: string;
  /** Digits with country code, or a BSUID (server/lib/bsuid.ts). */
  readonly to: string;
  readonly message: OutgoingMessage;
  /** `marketing` only for marketing templates of an onboarded business account. */
  readonly route: "standard" | "marketing";
  /** By performance.now(): a request that has no connection by then must not be sent, and fails as `late`. */
  readonly begin_by_ms?: number;
};

/** The provider accepted the message, which does not mean that it is delivered. */
export type Accepted = {
  readonly provider_message_id: string;
  /** The number (digits) under which the provider knows the recipient, if it names one. */
  readonly wa_id?: string;
};

/**
 * Why a message was not accepted:
 * - `rejected`: the provider refused it, for the reason in `code`. It will not be delivered.
 * - `throttled`: the provider refused it because of its rate, for `retry_after_ms` if given.
 * - `unreachable`: the request never left this machine, so it is safe to retry; `late`: because of `begin_by_ms`.
 * - `unknown`: it may have been accepted: a time-out, a lost connection, an invalid response or a server error. If
 *   `retry_after_ms` is given, others should wait for so long.
 */
export type SendFailure = "rejected" | "throttled" | "late" | "unreachable" | "unknown";

export class ChatSendError extends Error {
  override readonly name = "ChatSendError";
  readonly failure: SendFailure;
  /** The provider's error code, as Meta numbers them; null if there is none. */
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

/**
 * A component in Meta's notation: HEADER, BODY, FOOTER, BUTTONS with their `format`, `text`, `buttons`, `example`,
 * or another type, such as CAROUSEL, that our messages cannot fill.
 */
export type TemplateComponent = {
  readonly type: string;
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

/** A number and its business account, as the provider describes them. */
export type ProviderNumber = {
  readonly phone_number_id: string;
  /** Digits with country code. */
  readonly phone_number: string;
  readonly name: string;
  readonly quality: TemplateQuality;
  /** Whether marketing templates may use the marketing route. */
  readonly marketing_onboarded: boolean;
};

/** A customer, by at least one of two identities. */
export type WebhookPerson = {
  /** Digits with country code; null where the provider withholds the number. */
  readonly from: string | null;
  readonly bsuid: string | null;
  /** A second BSUID of the customer, which is valid in other business portfolios, too. */
  readonly parent_bsuid?: string;
};

/** One event in a provider's webhook. */
export type WebhookEvent =
  | {
      readonly kind: "status";
      readonly provider_message_id: string;
      /** Our message ID, if the provider returned it. */
      readonly message_id: string | null;
      readonly status: "sent" | "delivered" | "read" | "failed";
      readonly at: Date;
      readonly code: number | null;
      readonly recipient?: WebhookPerson;
    }
  | (WebhookPerson & {
      readonly kind: "reply";
      readonly provider_message_id: string;
      readonly at: Date;
      /** The provider's type: text, button, interactive, image, … */
      readonly type: string;
      readonly text: string | null;
      /** The payload of a button or the ID of the chosen row. */
      readonly payload: string | null;
      /** What the message contains besides its text, as the provider sends it: media, order, location, … */
      readonly content: unknown;
      /** The provider's ID of the message that it answers or reacts to. */
      readonly answers: string | null;
    })
  | (WebhookPerson & Readonly<{ kind: "preference"; at: Date; stop: boolean }>)
  /** The phone of a BSUID: events of the same webhook may name only one of them. */
  | { readonly kind: "link"; readonly phone: string; readonly bsuid: string }
  /** A customer got a new phone number, or a new BSUID because of it. */
  | Readonly<{ kind: "moved"; at: Date; before: WebhookPerson; after: WebhookPerson }>
  | {
      readonly kind: "template";
      readonly provider_template_id: string | null;
      readonly name: string | null;
      readonly language: string | null;
      /** The event's time; null if the provider gives none. */
      readonly at: Date | null;
      readonly status?: TemplateStatus;
      readonly quality?: TemplateQuality;
      readonly category?: TemplateCategory;
      readonly reason?: string;
      /** The components changed; the event does not describe them completely. */
      readonly content_changed?: true;
    }
  /** What findNumber returns of a number of the business account may have changed. */
  | Readonly<{ kind: "number" }>
  /** A change of the business account that a person should see: a ban, a restriction, a limit. */
  | {
      readonly kind: "account";
      readonly event: string;
      readonly at: Date | null;
      /** Whether the account may send to customers from now on; absent if the event changes nothing about that. */
      readonly may_send?: boolean;
      /** Whether an account that may not send may still answer customers who wrote within 24 hours. */
      readonly may_answer?: boolean;
      /** When a restriction ends; null if that is unknown. */
      readonly until?: Date | null;
    }
  /** Content that this driver cannot read; it is kept until a version of the driver can. */
  | { readonly kind: "unread"; readonly reason: string };

/** The events of one number or, without `phone_number_id`, of a business account. */
export type WebhookEventBatch = {
  readonly phone_number_id: string | null;
  readonly business_account_id: string | null;
  readonly events: readonly WebhookEvent[];
};

export type ChatDriver = {
  /**
   * Sends a message once. Throws only ChatSendError. Aborting `signal` fails with `unreachable` if nothing was
   * sent yet, otherwise with `unknown`.
   */
  send(from: ChatSender, outgoing: Outgoing, signal?: AbortSignal): Promise<Accepted>;
  /** Lists all templates of the business account. */
  listTemplates(businessAccountId: string): Promise<readonly ProviderTemplate[]>;
  /** Submits a template for approval. Throws ChatSendError. */
  createTemplate(businessAccountId: string, draft: TemplateDraft): Promise<ProviderTemplate>;
  deleteTemplate(businessAccountId: string, name: string): Promise<void>;
  findNumber(from: ChatSender): Promise<ProviderNumber>;
  /** Stores a file with the provider and returns its media ID. */
  uploadMedia(
    from: ChatSender,
    file: { bytes: Buffer; mime_type: string; name: string },
  ): Promise<string>;
  /** Parses a stored webhook body. Reports unknown content as `unread`; never throws. */
  readWebhook(body: unknown): readonly WebhookEventBatch[];
  /** Builds the webhook of a customer's answer; only where no customer exists. */
  simulateReply?(from: ChatSender, reply: SimulatedReply): unknown;
  /** Closes connections and timers. */
  close(): Promise<void>;
};

/** A customer's answer to a message; with a payload, the press of a button. */
export type SimulatedReply = WebhookPerson &
  Readonly<{ answers: string; text: string; payload: string | null; at: Date }>;

/** Authenticates the webhooks of a provider that posts them over HTTP. */
export type WebhookGuard = {
  /** Returns whether the provider signed these bytes. `raw` is the body as received, not serialized again. */
  verifySignature(raw: Buffer, header: string | undefined): boolean;
  /** Returns the response to the provider's subscription request; null if its token is wrong. */
  answerChallenge(query: Readonly<Record<string, unknown>>): string | null;
};

/** WhatsApp with credentials of accounts instead of the installation's. */
export type WhatsappAccess = Pick<ChatDriver, "readWebhook"> & {
  driverWith(access_token: string): ChatDriver;
  /** Authenticates the webhooks of the Meta app with this secret and verify token. */
  guardWith(app: { readonly app_secret: string; readonly verify_token: string }): WebhookGuard;
};

/** The names of drivers, as stored with chat numbers. */
export const chat_driver_names = ["sandbox", "whatsapp"] as const;
export type ChatDriverName = (typeof chat_driver_names)[number];

/** The chat drivers of this process; `whatsapp` without its credentials is absent. Accounts may have their own. */
export type ChatDrivers = {
  readonly sandbox?: ChatDriver;
  readonly whatsapp?: ChatDriver & WebhookGuard;
  readonly whatsappAccess?: WhatsappAccess;
};

/** Returns what reads the webhooks of a provider, with whichever credential they came. */
export function webhookReaderOf(
  drivers: ChatDrivers,
  name: ChatDriverName,
): Pick<ChatDriver, "readWebhook"> | undefined {
  return drivers[name] ?? (name === "whatsapp" ? drivers.whatsappAccess : undefined);
}
