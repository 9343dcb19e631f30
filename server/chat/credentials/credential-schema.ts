import Type, { type Static } from "typebox";
import { closed, id, optional, timestamp } from "../../lib/schemas.ts";

const token = (description: string) =>
  Type.String({
    pattern: "^[!-~]{1,2048}$",
    description,
    "x-reason": "must be 1 to 2048 characters that an HTTP header can carry, without spaces",
  });

/** An account's own credential. `app_secret` and `verify_token` belong to a Meta app: both or neither. */
export const WhatsappCredential = closed(
  {
    access_token: token("Reaches the account's numbers and business accounts"),
    app_secret: optional(
      token("Of the account's own Meta app, which signs its webhooks; needs verify_token"),
    ),
    verify_token: optional(
      token("Entered at Meta with the address /hooks/whatsapp/{account_id}; needs app_secret"),
    ),
  },
  { title: "NewWhatsappCredential", examples: [{ access_token: "EAAGexample" }] },
);
export type WhatsappCredential = Static<typeof WhatsappCredential>;

export const WhatsappCredentialResponse = Type.Object(
  {
    account_id: id("The account"),
    own_app: Type.Boolean({
      description:
        "Whether its webhooks come from its own Meta app, to /hooks/whatsapp/{account_id}",
    }),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC"),
  },
  { title: "WhatsappCredential" },
);
export type WhatsappCredentialResponse = Static<typeof WhatsappCredentialResponse>;

/** Returns the violations that a schema cannot express; the body may have any shape. */
export function validateWhatsappCredential(body: unknown): { field: string; reason: string }[] {
  const { app_secret, verify_token } = (body ?? {}) as Record<string, unknown>;
  const isGiven = (value: unknown) => value !== undefined && value !== null;
  if (isGiven(app_secret) === isGiven(verify_token)) return [];
  return isGiven(app_secret)
    ? [{ field: "verify_token", reason: "is required with app_secret" }]
    : [{ field: "app_secret", reason: "is required with verify_token" }];
}
