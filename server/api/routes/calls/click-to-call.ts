// Click-to-call, the only endpoint with its own error shape (contract 7.2).
import {
  ClickToCallResponse,
  ClickToCallError,
  NewClickToCall,
} from "../../../calls/click-to-call/click-to-call-schema.ts";
import { clickToCall } from "../../../calls/click-to-call/click-to-call.ts";
import { validateClickToCall } from "../../../calls/click-to-call/validate-click-to-call.ts";
import { renderCallError } from "../../checks/render-call-error.ts";
import { route } from "../../route.ts";

export const clickToCallRoutes = [
  route({
    method: "POST",
    url: "/api/v1/clickToCallApis/clickToCall",
    id: "clickToCall",
    summary: "Call an agent and then, once the agent answers, a customer",
    tag: "Calls",
    access: { features: ["calls"], anyOf: "any_token" },
    body: NewClickToCall,
    success: { 200: ClickToCallResponse },
    renderError: renderCallError,
    error: ClickToCallError,
    // clickToCall validates a call of the right shape.
    explain: async ({ app, caller, actor, body }) => {
      const submitter = { account: caller.account, token_id: actor.token_id };
      return (await validateClickToCall(app, submitter, body, app.clock.now())).violations;
    },
    handle: ({ app, caller, actor, body, keyed, write }) =>
      clickToCall(
        app,
        { account: caller.account, actor },
        // One statement needs no transaction.
        keyed ? write : (effect) => effect(app.db.pool),
        body,
      ),
  }),
];
