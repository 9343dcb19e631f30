/** The checked parts of a response. */
export type CheckedResponse = {
  readonly status: number;
  readonly type: string;
  readonly requestId: string | null;
  readonly text: string;
};

const keys = ["type", "title", "status", "detail", "request_id"];

/**
 * Returns what is wrong with a response to a malformed request, or null. `own_errors`: the errors have
 * the form of click-to-call; `either`: the mutated path may belong to another route.
 */
export function checkResponse(
  method: string,
  answer: CheckedResponse,
  { own_errors = false }: { own_errors?: boolean | "either" } = {},
): string | null {
  const { status, type, requestId, text } = answer;
  if (status >= 500) return `status ${status}`;
  if (status < 200 || (status >= 300 && status < 400)) return `status ${status}`;
  if (status < 300) return null;
  if (method === "HEAD") return text === "" ? null : "a body in a response to HEAD";
  const isOwn = own_errors === "either" ? type.startsWith("application/json") : own_errors;
  if (isOwn && status !== 404) return checkOwnError(status, type, text);
  if (type !== "application/problem+json") return `content-type ${type}`;
  return checkProblem(status, requestId, text);
}

function checkOwnError(status: number, type: string, text: string): string | null {
  if (type !== "application/json; charset=utf-8") return `content-type ${type}`;
  const body = JSON.parse(text) as Record<string, unknown>;
  if (Object.keys(body).join() !== "status,message") return `keys ${Object.keys(body).join()}`;
  if (body["status"] !== status) return "a different status in the body";
  if (status === 415 || status === 422 || status === 409) return `status ${status}`;
  return typeof body["message"] === "string" && body["message"] !== "" ? null : "no message";
}

function checkProblem(status: number, requestId: string | null, text: string): string | null {
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return "problem details that are not JSON";
  }
  const expected = status === 422 ? [...keys, "errors"] : keys;
  if (Object.keys(body).join() !== expected.join()) return `keys ${Object.keys(body).join()}`;
  if (body["status"] !== status) return "a different status in the body";
  if (body["request_id"] !== requestId) return "a different request_id in the body";
  for (const key of ["type", "title", "detail"]) {
    if (typeof body[key] !== "string" || body[key] === "") return `no ${key}`;
  }
  return status === 422 ? checkFieldErrors(body["errors"]) : null;
}

function checkFieldErrors(errors: unknown): string | null {
  if (!Array.isArray(errors) || errors.length === 0 || errors.length > 100) return "invalid errors";
  for (const error of errors as Record<string, unknown>[]) {
    if (Object.keys(error).join() !== "field,reason") return "invalid keys of a field error";
    // The field may be empty, because a key of the body may be.
    if (typeof error["field"] !== "string") return "invalid field of a field error";
    if (typeof error["reason"] !== "string" || error["reason"] === "")
      return "invalid reason of a field error";
  }
  return null;
}
