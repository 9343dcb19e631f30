// A key and a self-signed certificate for a TLS server that no client trusts.
import { generateKeyPairSync, sign } from "node:crypto";

/** Creates a certificate for 127.0.0.1, valid from 2020 to 2049, signed by its own key. */
export function selfSignedCertificate(): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const commonName = sequence(der(0x06, Buffer.from("550403", "hex")), text(0x0c, "127.0.0.1"));
  const name = sequence(der(0x31, commonName));
  const ecdsaWithSha256 = sequence(der(0x06, Buffer.from("2a8648ce3d040302", "hex")));
  const signed = sequence(
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    sequence(text(0x17, "200101000000Z"), text(0x17, "491231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign("sha256", signed, privateKey)]);
  const certificate = sequence(signed, ecdsaWithSha256, der(0x03, signature));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString("base64")}\n-----END CERTIFICATE-----\n`,
  };
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function text(tag: number, value: string): Buffer {
  return der(tag, Buffer.from(value));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
