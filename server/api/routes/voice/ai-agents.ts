import Type from "typebox";
import {
  AiAgentResponse,
  AiAgentPatch,
  NewAiAgent,
  storedAiAgent,
} from "../../../voice/ai-agents/ai-agent-schema.ts";
import { listAiAgents, readAiAgent } from "../../../voice/ai-agents/ai-agents.ts";
import { createAiAgent } from "../../../voice/ai-agents/create-ai-agent.ts";
import { deleteAiAgent } from "../../../voice/ai-agents/delete-ai-agent.ts";
import {
  refuseUnusableChange,
  refuseUnusableModel,
} from "../../../voice/ai-agents/refuse-unusable-model.ts";
import { validateAiAgent } from "../../../voice/ai-agents/validate-ai-agent.ts";
import { validateAiAgentPatch, updateAiAgent } from "../../../voice/ai-agents/update-ai-agent.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { manageContent, seeContent } from "./voice-files.ts";

const agents = "/api/v1/voice/agents";
const params = closed({ id: pathId("The AI agent") });
const tag = "Voice";

export const aiAgentRoutes = [
  route({
    method: "GET",
    url: agents,
    id: "listAiAgents",
    summary: "List AI agents",
    tag,
    access: seeContent,
    query: closed(pageQuery),
    success: { 200: pageOf(AiAgentResponse) },
    handle: ({ app, caller, query }) => listAiAgents(app.db.query, caller.account.id, query),
  }),
  route({
    method: "POST",
    url: agents,
    id: "createAiAgent",
    summary: "Create an AI agent",
    tag,
    access: manageContent,
    body: NewAiAgent,
    success: { 201: AiAgentResponse },
    validate: ({ app, caller, body }) =>
      validateAiAgent(app.db.query, caller.account.id, app.aiAgentDrivers, body),
    handle: async ({ app, actor, body, write }) => {
      await refuseUnusableModel(app.aiAgentDrivers, storedAiAgent(body).plan);
      return write((tx) => createAiAgent(tx, actor, body, app.clock.now()));
    },
  }),
  route({
    method: "GET",
    url: `${agents}/:id`,
    id: "readAiAgent",
    summary: "Read an AI agent",
    tag,
    access: seeContent,
    params,
    success: { 200: AiAgentResponse },
    handle: ({ app, caller, params: { id } }) => readAiAgent(app.db.query, caller.account.id, id),
  }),
  route({
    method: "PATCH",
    url: `${agents}/:id`,
    id: "updateAiAgent",
    summary: "Update an AI agent; applies to campaigns launched from now on",
    tag,
    access: manageContent,
    params,
    body: AiAgentPatch,
    success: { 200: AiAgentResponse },
    validate: ({ app, caller, params: { id }, body }) => {
      const at = { id, drivers: app.aiAgentDrivers };
      return validateAiAgentPatch(app.db.query, caller.account.id, at, body);
    },
    handle: async ({ app, actor, params: { id }, body, write }) => {
      const at = { id, drivers: app.aiAgentDrivers };
      await refuseUnusableChange(app.db.query, actor.account_id, at, body);
      return write((tx) => updateAiAgent(tx, actor, at, body, app.clock.now()));
    },
  }),
  route({
    method: "DELETE",
    url: `${agents}/:id`,
    id: "deleteAiAgent",
    summary: "Delete an AI agent that no voice file uses",
    tag,
    access: manageContent,
    params,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { id }, write }) => {
      await write((tx) => deleteAiAgent(tx, actor, id, app.clock.now()));
    },
  }),
];
