// An authenticator in software: it makes one passkey and signs challenges with it (WebAuthn 6.1, 6.5).
import { createHash, createSign, generateKeyPairSync, randomBytes } from "node:crypto";
import { isoCBOR } from "@simplewebauthn/server/helpers";

/** What differs from a ceremony as it should be. */
export type Deviation = {
  readonly origin?: string;
  readonly rp_id?: string;
  readonly is_unlocked?: boolean;
  readonly user_handle?: string;
};

type Options = {
  readonly challenge: string;
  readonly rp?: { readonly id: string };
  readonly rpId?: string;
  readonly user?: { readonly id: string };
};

/** Makes an authenticator for the pages of `origin`. */
export function makeAuthenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const credential_id = randomBytes(16);
  const id = credential_id.toString("base64url");
  let counter = 0;
  let user_handle = "";
  const client = (type: string, challenge: string, { origin: other = origin }: Deviation) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: other, crossOrigin: false }));
  const authenticator = (rp_id: string, { is_unlocked = true }: Deviation, has_key: boolean) => {
    const data = Buffer.alloc(37);
    createHash("sha256").update(rp_id).digest().copy(data);
    data[32] = 0x01 | (is_unlocked ? 0x04 : 0) | (has_key ? 0x40 : 0);
    counter += 1;
    data.writeUInt32BE(counter, 33);
    return data;
  };
  const credential = (response: object) => ({
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response,
  });
  return {
    /** Answers navigator.credentials.create(). */
    create(options: Options, deviation: Deviation = {}) {
      const { x, y } = publicKey.export({ format: "jwk" });
      const bytes = (text: string) => Uint8Array.from(Buffer.from(text, "base64url"));
      const cose = isoCBOR.encode(
        new Map<number, number | Uint8Array>([
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, bytes(x!)],
          [-3, bytes(y!)],
        ]),
      );
      user_handle = options.user!.id;
      const rp_id = deviation.rp_id ?? options.rp!.id;
      const length = Buffer.from([0, credential_id.length]);
      const data = Buffer.concat([
        authenticator(rp_id, deviation, true),
        Buffer.alloc(16),
        length,
        credential_id,
        cose,
      ]);
      const attestation = isoCBOR.encode(
        new Map<string, unknown>([
          ["fmt", "none"],
          ["attStmt", new Map()],
          ["authData", Uint8Array.from(data)],
        ]) as never,
      );
      return credential({
        clientDataJSON: client("webauthn.create", options.challenge, deviation).toString(
          "base64url",
        ),
        attestationObject: Buffer.from(attestation).toString("base64url"),
        transports: ["internal"],
      });
    },
    /** Answers navigator.credentials.get(). */
    get(options: Options, deviation: Deviation = {}) {
      const client_data = client("webauthn.get", options.challenge, deviation);
      const data = authenticator(deviation.rp_id ?? options.rpId!, deviation, false);
      const signed = Buffer.concat([data, createHash("sha256").update(client_data).digest()]);
      return credential({
        clientDataJSON: client_data.toString("base64url"),
        authenticatorData: data.toString("base64url"),
        signature: createSign("sha256").update(signed).sign(privateKey, "base64url"),
        userHandle: deviation.user_handle ?? user_handle,
      });
    },
  };
}
