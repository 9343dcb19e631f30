import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "./api-types.ts";
import { ApiProblem } from "./problem.ts";

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

/** The API, with the session's cookie and the types of its OpenAPI document. Throws ApiProblem. */
export const api = createClient<paths>({ baseUrl: location.origin });
api.use(problems);

/** Returns the body of an answer. */
export async function body<Data>(
  sent: Promise<{ readonly data?: Data | undefined }>,
): Promise<NonNullable<Data>> {
  return (await sent).data!;
}

/** Reads the error that a response describes. */
export async function readProblem(response: Response): Promise<ApiProblem> {
  const problem = (await response.json().catch(() => null)) as Partial<
    Record<"type" | "detail" | "message", string> & Pick<ApiProblem, "errors">
  > | null;
  const { status, headers } = response;
  return new ApiProblem(
    status,
    problem?.type ?? "unknown",
    problem?.detail ?? problem?.message ?? `The server answered ${status}`,
    { errors: problem?.errors ?? [], request_id: headers.get("x-request-id") },
  );
}
