import Type from "typebox";
import { closed, pageOf, pageQuery } from "../../../lib/schemas.ts";
import {
  AgentNumberResponse,
  NewAgentNumber,
} from "../../../telephony/agent-numbers/agent-number-schema.ts";
import {
  addAgentNumber,
  listAgentNumbers,
  removeAgentNumber,
} from "../../../telephony/agent-numbers/agent-numbers.ts";
import { numberPath } from "../../../telephony/numbers/phone-number-schema.ts";
import { route } from "../../route.ts";
import { manageAgents, seeAgents } from "./extensions.ts";

const numbers = "/api/v1/agent-numbers";
const tag = "Agent numbers";

export const agentNumberRoutes = [
  route({
    method: "GET",
    url: numbers,
    id: "listAgentNumbers",
    summary: "List the phones that may be rung as agents",
    tag,
    access: seeAgents,
    query: closed(pageQuery),
    success: { 200: pageOf(AgentNumberResponse) },
    handle: ({ app, caller, query }) => listAgentNumbers(app.db.query, caller.account.id, query),
  }),
  route({
    method: "POST",
    url: numbers,
    id: "addAgentNumber",
    summary: "Let a phone be rung as an agent",
    tag,
    access: manageAgents,
    body: NewAgentNumber,
    success: { 201: AgentNumberResponse },
    handle: ({ app, caller, actor, body, write }) =>
      write((tx) => addAgentNumber(tx, actor, caller.account.country_code, body, app.clock.now())),
  }),
  route({
    method: "DELETE",
    url: `${numbers}/:number`,
    id: "removeAgentNumber",
    summary: "Let a phone no longer be rung as an agent",
    tag,
    access: manageAgents,
    params: numberPath,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { number }, write }) => {
      await write((tx) => removeAgentNumber(tx, actor, number, app.clock.now()));
    },
  }),
];
