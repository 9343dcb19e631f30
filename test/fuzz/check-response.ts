/** One answer, as much of it as the judge looks at. */
export type CheckedResponse = {
  readonly status: number;
  readonly type: string;
  readonly requestId: string | null;
  readonly text: string;
};

const keys = ["type", "title", "status", "detail", "request_id"];

/**
 * What is wrong with an answer to a malformed request, or null. `own_errors`: of click-to-call, whose
 * errors have a shape of their own wherever the path is still its own.
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
  if (method === "HEAD") return text === "" ? null : "a body in the answer to HEAD";
  const isOwn = own_errors === "either" ? type.startsWith("application/json") : own_errors;
  if (isOwn && status !== 404) return judgeOwn(status, type, text);
  if (type !== "application/problem+json") return `content-type ${type}`;
  return judgeProblem(status, requestId, text);
}

function judgeOwn(status: number, type: string, text: string): string | null {
  if (type !== "application/json; charset=utf-8") return `content-type ${type}`;
  const body = JSON.parse(text) as Record<string, unknown>;
  if (Object.keys(body).join() !== "status,message") return `keys ${Object.keys(body).join()}`;
  if (body["status"] !== status) return "another status in the body";
  if (status === 415 || status === 422 || status === 409) return `status ${status}`;
  return typeof body["message"] === "string" && body["message"] !== "" ? null : "no message";
}

function judgeProblem(status: number, requestId: string | null, text: string): string | null {
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return "a problem that is not JSON";
  }
  const expected = status === 422 ? [...keys, "errors"] : keys;
  if (Object.keys(body).join() !== expected.join()) return `keys ${Object.keys(body).join()}`;
  if (body["status"] !== status) return "another status in the body";
  if (body["request_id"] !== requestId) return "another request_id in the body";
  for (const key of ["type", "title", "detail"]) {
    if (typeof body[key] !== "string" || body[key] === "") return `no ${key}`;
  }
  return status === 422 ? judgeErrors(body["errors"]) : null;
}

function judgeErrors(errors: unknown): string | null {
  if (!Array.isArray(errors) || errors.length === 0 || errors.length > 100) return "errors";
  for (const error of errors as Record<string, unknown>[]) {
    if (Object.keys(error).join() !== "field,reason") return "keys of an error";
    // The name may be empty: a body's key may.
    if (typeof error["field"] !== "string") return "field of an error";
    if (typeof error["reason"] !== "string" || error["reason"] === "") return "reason of an error";
  }
  return null;
}
