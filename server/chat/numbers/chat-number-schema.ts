// API schemas of chat numbers.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import { chat_driver_names, type ChatDriverName } from "../../drivers/chat/driver.ts";
import type { FieldError } from "../../lib/errors.ts";
import { openPhoneReader } from "../../lib/chat-phone-numbers.ts";
import { closed, id, optional, timestamp } from "../../lib/schemas.ts";
import { HoldResponse } from "../holds/holds.ts";

const name = shownName("Display name");
const driver = Type.Enum(chat_driver_names, {
  type: "string",
  description: "whatsapp: the WhatsApp Cloud API; sandbox: simulated, sends nothing",
});
const providerId = (description: string) =>
  Type.String({
    pattern: "^[A-Za-z0-9_-]{1,64}$",
    description,
    "x-reason": "must be 1 to 64 letters, digits, - and _",
  });
const rate = Type.Integer({
  minimum: 1,
  maximum: 1_000,
  description: "Messages a second; 80 unless said, which is WhatsApp's default",
});

/** The body of a number's creation; validateNewChatNumber checks what a schema cannot express. */
export const NewChatNumber = closed(
  {
    name,
    phone_number: Type.String({ maxLength: 50, description: "With country code" }),
    driver,
    provider_phone_number_id: optional(providerId("Of the number at WhatsApp")),
    business_account_id: optional(providerId("Of the number's WhatsApp business account")),
    rate_per_second: optional(rate),
    account_id: optional(
      id(
        "The account that gets the number, by default the caller's; only operators may name another",
      ),
    ),
  },
  {
    title: "NewChatNumber",
    examples: [{ name: "Support", phone_number: "+91 98765 43210", driver: "sandbox" }],
  },
);
export type NewChatNumber = Static<typeof NewChatNumber>;

/** The body of a number's patch. The provider's phone number ID cannot change. */
export const ChatNumberPatch = closed(
  {
    name: Type.Optional(name),
    rate_per_second: Type.Optional(rate),
    active: Type.Optional(Type.Boolean({ description: "No campaign starts from an inactive one" })),
  },
  { title: "ChatNumberPatch", minProperties: 1, examples: [{ rate_per_second: 250 }] },
);
export type ChatNumberPatch = Static<typeof ChatNumberPatch>;

export const ChatNumberResponse = Type.Object(
  {
    id: id("Chat number id"),
    name: Type.String(),
    phone_number: Type.String({ description: "Digits with country code" }),
    driver,
    provider_phone_number_id: Type.String(),
    business_account_id: Type.String(),
    rate_per_second: Type.Integer(),
    quality: Type.String({
      description: "As the provider rates it: GREEN, YELLOW, RED or UNKNOWN",
    }),
    marketing_onboarded: Type.Boolean({
      description: "May marketing templates take the provider's marketing route?",
    }),
    active: Type.Boolean(),
    holds: Type.Array(HoldResponse, { description: "What keeps its messages back, worst first" }),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC"),
  },
  { title: "ChatNumber" },
);
export type ChatNumberResponse = Static<typeof ChatNumberResponse>;

const readPhone = openPhoneReader({ valid_only: false });

/** Returns the number's digits with country code, or null when the text is not a phone number. */
export function readBusinessPhone(text: string): string | null {
  return readPhone(text);
}

/** Checks the rules that a schema cannot express; the body may have any shape. */
export function validateNewChatNumber(body: unknown): FieldError[] {
  if (typeof body !== "object" || body === null) return [];
  const fields = body as Record<string, unknown>;
  const violations: FieldError[] = [];
  const phone = fields["phone_number"];
  if (typeof phone === "string" && readPhone(phone) === null) {
    violations.push({
      field: "phone_number",
      reason: "must be a phone number with its country code",
    });
  }
  for (const field of ["provider_phone_number_id", "business_account_id"]) {
    const isGiven = fields[field] !== undefined && fields[field] !== null;
    if (fields["driver"] === "whatsapp" && !isGiven) {
      violations.push({ field, reason: "is required for the whatsapp driver" });
    }
    if (fields["driver"] === "sandbox" && isGiven) {
      violations.push({ field, reason: "is not for the sandbox, which has ids of its own" });
    }
  }
  return violations;
}

/** The columns that `chatNumberResponse` needs. */
export const number_columns = [
  "id",
  "name",
  "phone",
  "driver",
  "provider_phone_number_id",
  "business_account_id",
  "rate_per_second",
  "quality",
  "marketing_onboarded",
  "active",
  "created_at",
  "updated_at",
] as const;

export type ChatNumberRow = Omit<
  ChatNumberResponse,
  "phone_number" | "driver" | "holds" | "created_at" | "updated_at"
> & { phone: string; driver: string; created_at: Date; updated_at: Date };

/** Returns the API form of a number, with the holds that apply to it. */
export function chatNumberResponse(
  { phone, driver: driverName, ...row }: ChatNumberRow,
  holds: readonly HoldResponse[],
): ChatNumberResponse {
  return {
    ...row,
    phone_number: phone,
    driver: driverName as ChatDriverName,
    holds: holds.filter(
      ({ scope, subject_id }) =>
        scope === "account" || (scope === "number" && subject_id === row.id),
    ),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
