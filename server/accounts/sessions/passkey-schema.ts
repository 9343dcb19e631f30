import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import Type, { type Static } from "typebox";
import { closed, id, nullable, timestamp } from "../../lib/schemas.ts";

/** How long a person may take to unlock the device. Shorter than used challenges are remembered. */
export const challenge_minutes_max = 5;

const passkeyName = Type.String({
  minLength: 1,
  maxLength: 100,
  description: "To recognize the device",
});

/** A device that signs its user in. */
export const Passkey = Type.Object(
  {
    id: id("The passkey"),
    name: passkeyName,
    created_at: timestamp("UTC"),
    last_used_at: nullable(timestamp("UTC; null: never")),
  },
  { title: "Passkey" },
);
export type Passkey = Static<typeof Passkey>;

/** What navigator.credentials takes, as JSON (WebAuthn 5.4 and 5.5). */
export const PasskeyOptions = Type.Object(
  {
    options: Type.Object(
      {},
      {
        title: "PasskeyCeremony",
        description: "For PublicKeyCredential.parse…OptionsFromJSON",
        additionalProperties: true,
      },
    ),
  },
  { title: "PasskeyOptions" },
);

const ofBrowser = <Response>(about: string) =>
  Type.Unsafe<Response>({
    type: "object",
    description: about,
    required: ["id", "response"],
    properties: { id: { type: "string", maxLength: 2_000 }, response: { type: "object" } },
  });
const example = { id: "AAAA", rawId: "AAAA", type: "public-key", response: {} };

export const NewPasskey = closed(
  {
    name: passkeyName,
    response: ofBrowser<RegistrationResponseJSON>("The new credential's toJSON()"),
  },
  {
    title: "NewPasskey",
    description: "A passkey that the browser has made",
    examples: [{ name: "Laptop", response: example }],
  },
);

export const PasskeyAnswer = closed(
  { response: ofBrowser<AuthenticationResponseJSON>("The credential's toJSON()") },
  {
    title: "PasskeyAnswer",
    description: "What a passkey has signed",
    examples: [{ response: example }],
  },
);
