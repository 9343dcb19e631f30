import { errors } from "undici";
import { OutgoingError } from "./outgoing-http.ts";

/** By the codes of Node, OpenSSL and undici. */
const explanations: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was lost before the response",
  EPIPE: "the connection was lost before the response",
  UND_ERR_SOCKET: "the connection was lost before the response",
  EHOSTUNREACH: "the address is unreachable",
  ENETUNREACH: "the address is unreachable",
  EADDRNOTAVAIL: "the address is unreachable",
  ENOTFOUND: "the host name was not found",
  ENODATA: "the host name was not found",
  EBADNAME: "the host name is not a valid DNS name",
  EAI_AGAIN: "the host name could not be looked up",
  ETIMEOUT: "the name servers did not respond in time",
  ESERVFAIL: "the name servers failed",
  EREFUSED: "the name servers refused to answer",
  CERT_HAS_EXPIRED: "the certificate has expired",
  CERT_NOT_YET_VALID: "the certificate is not valid yet",
  CERT_REVOKED: "the certificate was revoked",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate's issuer is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "the certificate's issuer is unknown",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the certificate's issuer is unknown",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate's chain is incomplete",
  UND_ERR_HEADERS_OVERFLOW: "the response headers are too large",
};
const timed_out: ReadonlySet<string> = new Set(["ETIMEDOUT", "UND_ERR_CONNECT_TIMEOUT"]);

/** Explains a connection's error to the owner of the URL; the error itself is the cause. */
export function explainFailure(error: unknown): OutgoingError {
  if (error instanceof OutgoingError) return error;
  const code = codeOf(error);
  const more = { cause: error };
  if (timed_out.has(code)) return new OutgoingError("timeout", "the connection timed out", more);
  // undici sets no code for it.
  if (error instanceof errors.HTTPParserError)
    return new OutgoingError("unreachable", "the response is not valid HTTP", more);
  return new OutgoingError("unreachable", explanations[code] ?? explainGroup(code), more);
}

function explainGroup(code: string): string {
  if (code.startsWith("ERR_SSL_") || code === "EPROTO") return "the TLS handshake failed";
  if (code.includes("CERT")) return `the certificate is not valid (${code})`;
  return "the connection failed";
}

/** If every address of a name failed, returns the first failure's code. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const code = error instanceof Error && "code" in error ? error.code : null;
  return typeof code === "string" ? code : "";
}
