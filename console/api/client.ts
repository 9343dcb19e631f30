import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "./api-types.ts";
import { holdWhileDescribed } from "./described-write.ts";
import { ApiProblem } from "./problem.ts";
import { checkWrite, reportUnauthorized } from "./session-changes.ts";

/** Makes every failure an ApiProblem, so that no caller looks at a status. */
const problems: Middleware = {
  onError: ({ error, request }) =>
    request.signal.aborted && error instanceof Error
      ? error
      : new ApiProblem(0, "unreachable", "The server cannot be reached. Check your connection."),
  async onResponse({ response }) {
    if (!response.ok) throw await readProblem(response);
  },
};

/** A write that is described is not sent, nor one of another user than the one who is signed in. */
const writes: Middleware = {
  async onRequest({ request }) {
    if (request.method === "GET") return;
    checkWrite();
    await holdWhileDescribed(async () => ({
      method: request.method,
      url: request.url,
      headers: [...request.headers].filter(([name]) => described_headers.has(name)),
      body: (await request.clone().text()) || null,
    }));
  },
};
const described_headers: ReadonlySet<string> = new Set(["content-type", "idempotency-key"]);

/** The API, with the session's cookie and the types of its OpenAPI document. Throws ApiProblem. */
export const api = createClient<paths>({ baseUrl: location.origin });
api.use(problems, writes);

/** Returns the body of an answer. */
export async function body<Data>(
  sent: Promise<{ readonly data?: Data | undefined }>,
): Promise<NonNullable<Data>> {
  return (await sent).data!;
}

/** Reads the error that a response describes. The session may have ended if it is a 401. */
export async function readProblem(response: Response): Promise<ApiProblem> {
  const problem = (await response.json().catch(() => null)) as Partial<
    Record<"type" | "detail" | "message", string> & Pick<ApiProblem, "errors">
  > | null;
  const { status, headers } = response;
  if (status === 401) reportUnauthorized();
  return new ApiProblem(
    status,
    problem?.type ?? "unknown",
    problem?.detail ?? problem?.message ?? `The server answered ${status}`,
    { errors: problem?.errors ?? [], request_id: headers.get("x-request-id") },
  );
}
