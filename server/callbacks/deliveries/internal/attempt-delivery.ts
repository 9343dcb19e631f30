import {
  OutgoingError,
  type OutgoingResponse,
  type OutgoingRequest,
} from "../../../lib/outgoing/outgoing-http.ts";
import { traced } from "../../../lib/tracing/tracing.ts";
import { user_agent } from "../../../lib/user-agent.ts";
import { callbackBody, callbackQuery, webhookId } from "../../endpoints/callback-body.ts";
import { signCallback } from "../../endpoints/sign-callback.ts";
import { decideAfterAttempt } from "./decide-after-attempt.ts";
import {
  adjustWindow,
  endFailure,
  pauseUntil,
  type Deliverer,
  type DueDelivery,
  type EndpointState,
  type Result,
} from "./deliverer.ts";

/** Standard Webhooks recommends 15 to 30 s. */
const timeout_ms = 15_000;

/** Makes one attempt and adds its result to the deliverer's; an attempt that `cut` aborts has no result. */
export async function attemptDelivery(
  deliverer: Deliverer,
  due: DueDelivery,
  endpoint: EndpointState,
  cut: AbortSignal,
): Promise<void> {
  const { app, lease } = deliverer;
  const at = app.clock.now();
  const began_ms = performance.now();
  const about = {
    "trunkline.account.id": lease.account_id,
    "trunkline.endpoint.id": deliverer.endpoint_id,
    "trunkline.event.id": due.event_id,
    "trunkline.event.type": due.type,
  };
  const outcome = await traced("deliver callback", { parent: null, attributes: about }, () =>
    exchange(deliverer, cut, () => callbackRequest(lease.account_id, endpoint, due, at)),
  );
  if (cut.aborted && outcome.answer === null) return;
  const now = app.clock.now();
  const { answer, error } = outcome;
  const { failing_since } = deliverer.endpoint ?? endpoint;
  const { attempts } = due;
  const follows = decideAfterAttempt({ attempts, answer, failing_since }, now, app.random());
  adjustWindow(deliverer, follows.state === "delivered");
  // A failure at a URL that was changed during the attempt does not count: see record_and_claim_deliveries.
  if ((deliverer.endpoint ?? endpoint).url === endpoint.url) {
    if (follows.state === "delivered") endFailure(deliverer);
    if (follows.disable) deliverer.disable ??= { reason: follows.disable, url: endpoint.url };
    pauseUntil(deliverer, follows.resume_at);
  }
  const result: Result = {
    id: due.id,
    attempts,
    url: endpoint.url,
    at,
    duration_ms: Math.round(performance.now() - began_ms),
    status: answer?.status ?? null,
    error,
    response: answer?.text ?? null,
    state: follows.state,
    due_at: follows.due_at,
  };
  deliverer.results.push(result);
}

type Outcome = { readonly answer: OutgoingResponse | null; readonly error: string | null };

async function exchange(
  { app, lease, endpoint_id }: Deliverer,
  cut: AbortSignal,
  make: () => OutgoingRequest,
): Promise<Outcome> {
  try {
    const answer = await app.outgoing.send(make(), cut);
    const isRedirect = answer.status >= 300 && answer.status < 400;
    return { answer, error: isRedirect ? "redirects are not followed" : null };
  } catch (error) {
    if (error instanceof OutgoingError) return { answer: null, error: error.message };
    const about = { account_id: lease.account_id, subject_id: endpoint_id };
    app.log.error({ err: error, ...about }, "could not send callback");
    return { answer: null, error: "the request could not be made" };
  }
}

/** Returns the request, signed for this attempt. */
function callbackRequest(
  accountId: number,
  { url, secrets }: Pick<EndpointState, "url" | "secrets">,
  due: Pick<DueDelivery, "event_id" | "method" | "type" | "occurred_at" | "data">,
  at: Date,
): OutgoingRequest {
  const isGet = due.method === "GET";
  const content = isGet ? callbackQuery(due) : callbackBody(due);
  const id = webhookId(accountId, due.event_id);
  const seconds = Math.floor(at.getTime() / 1_000);
  return {
    sender: accountId,
    method: due.method,
    url: isGet ? withQuery(url, content) : url,
    headers: {
      ...(isGet ? {} : { "content-type": "application/json" }),
      "user-agent": user_agent,
      "webhook-id": id,
      "webhook-timestamp": String(seconds),
      "webhook-signature": signCallback(secrets, { id, seconds, content }),
    },
    body: isGet ? null : content,
    timeout_ms,
  };
}

function withQuery(url: string, query: string): string {
  const to = new URL(url);
  to.search = to.search === "" ? query : `${to.search}&${query}`;
  return to.href;
}
