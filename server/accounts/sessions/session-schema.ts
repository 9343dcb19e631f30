import Type, { type Static } from "typebox";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { shownName } from "../accounts/account-schema.ts";

/** A password that someone chooses. */
export const newPassword = Type.String({
  minLength: 10,
  maxLength: 200,
  description: "At least 10 characters",
});
const email = Type.String({
  minLength: 3,
  maxLength: 254,
  description: "The user's email address",
});

const code = Type.String({
  minLength: 6,
  maxLength: 30,
  description: "Of the authenticator app, or a recovery code",
});

export const SignInRequest = closed(
  {
    email,
    password: Type.String({ minLength: 1, maxLength: 200 }),
    account_id: optional(id("Which account; without it, ten of the email address are checked")),
    code: optional(code),
  },
  {
    title: "SignIn",
    description: "An email address and a password",
    examples: [{ email: "owner@demo.example", password: "correct horse battery" }],
  },
);
export type SignInRequest = Static<typeof SignInRequest>;

export const LinkRequest = closed(
  {
    link: Type.String({ maxLength: 120, description: "What follows # in the link" }),
    password: optional(newPassword),
    code: optional(code),
  },
  {
    title: "SignInLinkUse",
    description: "A link that signs in once",
    examples: [{ link: "1_1_0123", password: "correct horse battery" }],
  },
);
export type LinkRequest = Static<typeof LinkRequest>;

export const PasswordRequest = closed(
  {
    current_password: optional(Type.String({ maxLength: 200 })),
    password: newPassword,
  },
  {
    title: "PasswordChange",
    description: "A new password; current_password is required if the user has one",
    examples: [{ current_password: "correct horse", password: "correct horse battery" }],
  },
);
export type PasswordRequest = Static<typeof PasswordRequest>;

const account = Type.Object({ account_id: id("Account id"), name: Type.String() });

export const ResetRequest = closed(
  {
    email,
    account_id: optional(id("Of which account; without it, the mail has links of ten at most")),
  },
  {
    title: "PasswordReset",
    description: "Who forgot the password",
    examples: [{ email: "owner@demo.example" }],
  },
);
export type ResetRequest = Static<typeof ResetRequest>;

export const MePatch = closed(
  { name: shownName("Display name") },
  { title: "MePatch", description: "The fields to change", examples: [{ name: "Asha" }] },
);
export type MePatch = Static<typeof MePatch>;

export const SessionResponse = Type.Object(
  {
    id: id("Session id"),
    is_current: Type.Boolean({ description: "Whether it is the session of this request" }),
    address: nullable(Type.String({ description: "The IP address that signed in" })),
    user_agent: nullable(Type.String({ description: "The User-Agent that signed in, shortened" })),
    created_at: timestamp("UTC"),
    last_used_at: timestamp("UTC; may lag behind by a minute"),
    expires_at: timestamp("UTC; earlier after 12 hours without use"),
  },
  { title: "Session" },
);
export type SessionResponse = Static<typeof SessionResponse>;

/** Whether signing in needs a second factor. */
export const Totp = Type.Object(
  {
    enabled: Type.Boolean(),
    recovery_codes_left: Type.Integer({ description: "Codes for when the app is lost" }),
  },
  { title: "Totp" },
);
export type Totp = Static<typeof Totp>;

/** For what an open session alone must not be enough. */
export const CurrentPassword = closed(
  { current_password: optional(Type.String({ maxLength: 200 })) },
  {
    title: "CurrentPassword",
    description: "Required, if the user has one",
    examples: [{ current_password: "correct horse battery" }],
  },
);

export const NewTotp = Type.Object(
  {
    secret: Type.String({ description: "Base32, to type into the app" }),
    uri: Type.String({ description: "otpauth:, to show as a QR code" }),
  },
  { title: "NewTotp" },
);
export type NewTotp = Static<typeof NewTotp>;

export const FactorCode = closed(
  { code },
  { title: "FactorCode", description: "One code", examples: [{ code: "123456" }] },
);

export const RecoveryCodes = Type.Object(
  {
    recovery_codes: Type.Array(Type.String(), { description: "Each works once; shown only here" }),
  },
  { title: "RecoveryCodes" },
);

export const SignInOptions = Type.Object(
  {
    oidc: nullable(
      Type.Object(
        { label: Type.String({ description: "What the button calls it" }) },
        {
          title: "OidcOption",
          description: "The identity provider of this installation; null without one",
        },
      ),
    ),
    passkeys: Type.Boolean({
      description: "Whether the service's address has a name, to which browsers bind passkeys",
    }),
    password_reset_by_mail: Type.Boolean({
      description: "Whether this installation mails links for a new password",
    }),
  },
  { title: "SignInOptions" },
);

export const SignInResponse = Type.Object(
  {
    signed_in: Type.Boolean({
      description: "False: the person has several accounts; send one of the choices as account_id",
    }),
    choices: Type.Array(account),
    more_accounts: Type.Boolean({
      description: "True: there may be more than the choices; send the ID of another as account_id",
    }),
    code_required: Type.Boolean({
      description: "True: send the same again with a code of the authenticator app",
    }),
  },
  { title: "SignInResult" },
);
export type SignInResponse = Static<typeof SignInResponse>;

/** Where to go for a sign-in at the identity provider. */
export const OidcSignIn = Type.Object(
  { url: Type.String({ description: "The provider's page" }) },
  { title: "OidcSignIn" },
);

/** What comes back from the identity provider. */
export const OidcAnswer = closed(
  {
    answer: optional(
      Type.String({ maxLength: 8_192, description: "The query of the page it returned to" }),
    ),
    account_id: optional(id("Which account, for a person of several")),
    code: optional(code),
  },
  {
    title: "OidcAnswer",
    description: "The provider's answer; then, where asked for, the account and the code",
    examples: [{ answer: "code=0123&state=4567" }],
  },
);

export const SignInLinkResponse = Type.Object(
  {
    path: nullable(
      Type.String({
        description: "The page of the link, shown only here; null in a replayed response",
      }),
    ),
    expires_at: timestamp("UTC"),
  },
  { title: "SignInLink" },
);

const drivers = (names: readonly string[], description: string) =>
  Type.Array(Type.Enum(names, { type: "string" }), { description });

export const Me = Type.Object(
  {
    user: Type.Object(
      {
        id: id("User id"),
        name: Type.String(),
        email: Type.String(),
        phone: nullable(Type.String()),
        extension: nullable(Type.String()),
        is_owner: Type.Boolean(),
        agent_numbers: Type.Array(Type.String(), {
          description: "The extensions and the phone at which the user takes calls",
        }),
        away_since: nullable(timestamp("UTC: since when groups do not ring them; null: they do")),
      },
      { title: "MyUser" },
    ),
    account: Type.Object(
      {
        id: id("Account id"),
        name: Type.String(),
        time_zone: Type.String(),
        country_code: Type.String(),
        features: Type.Array(Type.String()),
        frozen: Type.Boolean({
          description:
            "While the account moves to another installation: nothing is sent or called, and every write is answered 503",
        }),
      },
      { title: "MyAccount" },
    ),
    has_password: Type.Boolean({
      description: "Whether the user can sign in with the email address and a password",
    }),
    credits: nullable(
      Type.Object(
        {
          chat: Type.Integer({ format: "int64", description: "Available" }),
          call: Type.Integer({ format: "int64", description: "Available" }),
        },
        { title: "MyCredits", description: "Null without credits.read" },
      ),
    ),
    drivers: Type.Object(
      {
        chat: drivers(["sandbox", "whatsapp"], "Of the active chat numbers"),
        voice: drivers(
          ["sandbox", "asterisk"],
          "Of the nodes of the trunks that the account may use",
        ),
      },
      {
        title: "MyDrivers",
        description:
          "What sends and calls: sandbox alone reaches no one; empty means not set up yet",
      },
    ),
    permissions: Type.Array(Type.String(), {
      description: "What this token may do: the role's permissions within the token's scopes",
    }),
    token_kind: Type.Unsafe<"account" | "agent" | "session">({
      type: "string",
      enum: ["account", "agent", "session"],
    }),
  },
  { title: "Me" },
);
export type Me = Static<typeof Me>;
