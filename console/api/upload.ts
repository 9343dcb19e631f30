import type { paths } from "./api-types.ts";
import { readProblem } from "./client.ts";
import { holdWhileDescribed } from "./described-write.ts";
import { ApiProblem } from "./problem.ts";
import { checkWrite } from "./session-changes.ts";

type Uploaded<Path extends keyof paths> = paths[Path] extends {
  post: { responses: infer Responses };
}
  ? Responses extends
      | { 200: { content: { "application/json": infer Body } } }
      | { 201: { content: { "application/json": infer Body } } }
      | { 202: { content: { "application/json": infer Body } } }
    ? Body
    : never
  : never;

type Sending = {
  /** The values of the path's names. */
  readonly params?: Readonly<Record<string, number>>;
  /** A repetition with the same idempotency key has no second effect. */
  readonly key?: string;
  readonly onProgress: (percent: number) => void;
};

/** Sends a form with a file and reports how much of it has arrived, 0 to 100. Throws ApiProblem. */
export async function upload<Path extends keyof paths>(
  path: Path,
  parts: Readonly<Record<string, string | Blob | undefined>>,
  { params = {}, key, onProgress }: Sending,
): Promise<Uploaded<Path>> {
  checkWrite();
  const form = new FormData();
  for (const [name, part] of Object.entries(parts))
    if (part !== undefined && part !== "") form.append(name, part);
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(params[name]));
  await holdWhileDescribed(() => ({
    method: "POST",
    url: new URL(url, location.origin).href,
    headers: key === undefined ? [] : [["idempotency-key", key]],
    body: form,
  }));
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    if (key !== undefined) request.setRequestHeader("idempotency-key", key);
    request.upload.addEventListener("progress", ({ loaded, total }) =>
      onProgress(total === 0 ? 100 : Math.round((loaded / total) * 100)),
    );
    request.addEventListener("error", () =>
      reject(
        new ApiProblem(0, "unreachable", "The server cannot be reached. Check your connection."),
      ),
    );
    request.addEventListener("load", () => {
      const { status, responseText } = request;
      if (status < 400) return resolve(JSON.parse(responseText) as Uploaded<Path>);
      const headers = { "x-request-id": request.getResponseHeader("x-request-id") ?? "" };
      void readProblem(new Response(responseText, { status, headers })).then(reject);
    });
    request.send(form);
  });
}
