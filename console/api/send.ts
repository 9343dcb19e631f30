import { ApiProblem } from "./problem.ts";

export type Sending = {
  readonly json?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Sends a request with the session's cookie and returns the parsed answer; throws ApiProblem. */
export async function send<Answer>(
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  { json, signal, headers }: Sending = {},
): Promise<Answer> {
  const response = await fetch(path, {
    method,
    headers: { ...(json === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    ...(signal ? { signal } : {}),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiProblem(0, "unreachable", "The server cannot be reached. Check your connection.");
  });
  const body = (await response.json().catch(() => null)) as Record<string, unknown> | null;
  if (response.ok) return body as Answer;
  throw new ApiProblem(
    response.status,
    typeof body?.["type"] === "string" ? body["type"] : "unknown",
    typeof body?.["detail"] === "string"
      ? body["detail"]
      : `The server answered ${response.status}`,
    {
      errors: (body?.["errors"] as ApiProblem["errors"] | undefined) ?? [],
      request_id: response.headers.get("x-request-id"),
    },
  );
}
