import { errors } from "undici";
import { OutgoingError } from "./outgoing-http.ts";

/** By the codes of Node, OpenSSL and undici. */
const explanations: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection broke before there was an answer",
  EPIPE: "the connection broke before there was an answer",
  UND_ERR_SOCKET: "the connection broke before there was an answer",
  EHOSTUNREACH: "there is no way to the address",
  ENETUNREACH: "there is no way to the address",
  EADDRNOTAVAIL: "there is no way to the address",
  ENOTFOUND: "the host's name was not found",
  ENODATA: "the host's name was not found",
  EBADNAME: "the host's name is not one that DNS can have",
  EAI_AGAIN: "the host's name could not be looked up",
  ETIMEOUT: "the host's name servers did not answer in time",
  ESERVFAIL: "the host's name servers failed",
  EREFUSED: "the host's name servers refused to answer",
  CERT_HAS_EXPIRED: "the certificate has expired",
  CERT_NOT_YET_VALID: "the certificate is not valid yet",
  CERT_REVOKED: "the certificate was revoked",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is signed by nobody but itself",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate's issuer is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "the certificate's issuer is not known",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the certificate's issuer is not known",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate's chain is incomplete",
  UND_ERR_HEADERS_OVERFLOW: "the answer's headers are too large",
};
const timed_out: ReadonlySet<string> = new Set(["ETIMEDOUT", "UND_ERR_CONNECT_TIMEOUT"]);

/** What a connection's error means to the owner of the URL; the error itself is the cause. */
export function explainFailure(error: unknown): OutgoingError {
  if (error instanceof OutgoingError) return error;
  const code = codeOf(error);
  const more = { cause: error };
  if (timed_out.has(code))
    return new OutgoingError("timeout", "no connection came about in time", more);
  // undici gives it no code.
  if (error instanceof errors.HTTPParserError)
    return new OutgoingError("unreachable", "the answer is not HTTP", more);
  return new OutgoingError("unreachable", explanations[code] ?? explainGroup(code), more);
}

function explainGroup(code: string): string {
  if (code.startsWith("ERR_SSL_") || code === "EPROTO") return "no TLS connection came about";
  if (code.includes("CERT")) return `the certificate is not valid (${code})`;
  return "the connection failed";
}

/** When every address of a name failed, the first failure stands for all. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  const code = error instanceof Error && "code" in error ? error.code : null;
  return typeof code === "string" ? code : "";
}
