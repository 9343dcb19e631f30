// The one endpoint whose errors have a shape of their own (contract 7.2).
import {
  ClickToCallAnswer,
  ClickToCallError,
  NewClickToCall,
} from "../../calls/click-to-call-schema.ts";
import { clickToCall } from "../../calls/click-to-call.ts";
import { judgeClickToCall } from "../../calls/judge-click-to-call.ts";
import { isDatabaseUnavailable } from "../../lib/database-errors.ts";
import { refusals, type Refusal } from "../../lib/errors.ts";
import type { RenderError } from "../render-error.ts";
import { route } from "../route.ts";

/** `{status, message}`; the message names every failing field. */
const renderCallError: RenderError = (refusal) => {
  const status = statusOf(refusal);
  const fields = refusal.errors?.map(({ field, reason }) => `${field}: ${reason}`);
  const message = fields?.join("; ") ?? refusal.message;
  return { status, contentType: "application/json; charset=utf-8", body: { status, message } };
};

function statusOf({ type, cause }: Refusal): number {
  switch (type) {
    case "validation-failed":
    case "insufficient-credit":
    case "unsupported-media-type":
      return 400;
    // Whether the call was submitted may not be known: it is not to be sent again as a matter of course.
    case "unavailable":
      return isDatabaseUnavailable(cause) ? 500 : 503;
    default:
      return refusals[type].status;
  }
}

export const clickToCallRoutes = [
  route({
    method: "POST",
    url: "/api/v1/clickToCallApis/clickToCall",
    id: "clickToCall",
    summary: "Call an agent and then, once the agent answers, a customer",
    tag: "Calls",
    access: { feature: "calls", anyOf: "any_token" },
    body: NewClickToCall,
    success: { 200: ClickToCallAnswer },
    renderError: renderCallError,
    error: ClickToCallError,
    // A call of the right shape is judged by clickToCall itself.
    judge: async ({ app, caller, body, request }) =>
      request.validationError
        ? (await judgeClickToCall(app.db, caller.account, body, app.clock.now())).faults
        : [],
    handle: ({ app, caller, actor, body, write }) =>
      clickToCall(
        app,
        { account: caller.account, actor: { ...actor, user_id: caller.user_id } },
        write,
        body,
      ),
  }),
];
