import Type from "typebox";
import { findUser } from "../../../accounts/users/users.ts";
import { invalidField } from "../../../lib/errors.ts";
import { closed } from "../../../lib/schemas.ts";
import { findAgentNumbers } from "../../../telephony/agent-groups/find-agent-numbers.ts";
import {
  Availability,
  AvailabilityResponse,
  requireAgent,
  setAway,
} from "../../../telephony/away-agents.ts";
import { route } from "../../route.ts";
import { manageAgents } from "./extensions.ts";

const tag = "Agent groups";

const params = closed({
  number: Type.String({
    pattern: "^[0-9]{2,15}$",
    description: "An extension, or a phone number as the groups' members show it",
    examples: ["201"],
  }),
});

export const agentAvailabilityRoutes = [
  route({
    method: "PUT",
    url: "/api/v1/agent-availability/:number",
    id: "updateAgentAvailability",
    summary: "Set whether an agent is away from all groups",
    tag,
    access: manageAgents,
    params,
    body: Availability,
    success: { 200: AvailabilityResponse },
    handle: async ({ app, actor, params: { number }, body: { away }, write }) => {
      await requireAgent(app.db.pool, actor.account_id, number);
      return write((tx) => setAway(tx, actor, [number], away, app.clock.now()));
    },
  }),
  route({
    method: "PUT",
    url: "/api/v1/me/availability",
    id: "updateOwnAvailability",
    is_own: true,
    summary: "Set whether you are away: groups do not ring your extension and your phone",
    tag,
    access: { anyOf: "any_token" },
    body: Availability,
    success: { 200: AvailabilityResponse },
    handle: async ({ app, caller: { account, user_id }, actor, body: { away }, write }) => {
      const user = await findUser(app.db.query, account.id, user_id);
      const numbers = await findAgentNumbers(app.db.query, account, user);
      if (away && numbers.length === 0)
        throw invalidField("away", "needs an extension or a phone number of yours");
      return write((tx) => setAway(tx, actor, numbers, away, app.clock.now()));
    },
  }),
];
