// The stub's control API over HTTP, under /_stub/, for a stub that runs as a separate process.
import type { StubAnswer } from "./answers.ts";
import type { InjectedError } from "./injected-errors.ts";
import type { ProviderStub, Reply } from "./start-provider-stub.ts";

type Commands = Omit<ProviderStub, "url" | "api_url" | "close" | "closeConnections">;

/**
 * GET  /_stub/health, /_stub/settings, /_stub/counts, /_stub/repeated
 * GET  /_stub/log?from=0&limit=1000 → {entries, total}
 * POST /_stub/settings {some of StubSettings}
 * POST /_stub/errors {errors: [InjectedError], seed?}
 * POST /_stub/reply {from, text | message, phone_number_id?}
 * POST /_stub/preference {from, stop}
 * POST /_stub/template {name, status?, quality?, category?, reason?}
 * POST /_stub/webhook {any body}
 * POST /_stub/reset
 */
export function openControl(
  stub: Commands,
): (method: string, url: URL, raw: Buffer) => Promise<StubAnswer> {
  return async (method, url, raw) => {
    const command = `${method} ${url.pathname.slice("/_stub/".length)}`;
    try {
      const body = (raw.length === 0 ? {} : JSON.parse(raw.toString())) as Record<string, unknown>;
      const answer = await execute(stub, command, url.searchParams, body);
      return answer === undefined
        ? { status: 404, body: { error: `unknown command ${command}` } }
        : { status: 200, body: answer };
    } catch (error) {
      return { status: 400, body: { error: (error as Error).message } };
    }
  };
}

async function execute(
  stub: Commands,
  command: string,
  query: URLSearchParams,
  body: Record<string, unknown>,
): Promise<unknown> {
  switch (command) {
    case "GET health":
      return { ok: true };
    case "GET settings":
      return stub.settings();
    case "GET counts":
      return stub.counts();
    case "GET repeated":
      return stub.repeated();
    case "GET log": {
      const limit = Number(query.get("limit") ?? "1000");
      const entries = stub.log(Number(query.get("from") ?? "0"), limit);
      return { entries, total: stub.counts().logged };
    }
    case "POST settings":
      stub.set(body);
      return stub.settings();
    case "POST errors": {
      const { errors, seed } = body as { errors: readonly InjectedError[]; seed?: number };
      stub.setErrors(errors, seed);
      return { ok: true };
    }
    case "POST reply":
      await stub.reply(body as Reply);
      return { ok: true };
    case "POST preference":
      await stub.prefer(body["from"] as string, body["stop"] === true);
      return { ok: true };
    case "POST template": {
      const { name, ...change } = body as { name: string; status?: string };
      await stub.changeTemplate(name, change);
      return { ok: true };
    }
    case "POST webhook":
      await stub.postBody(body);
      return { ok: true };
    case "POST reset":
      stub.reset();
      return { ok: true };
    default:
      return undefined;
  }
}
