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
import { RehearsalResults } from "../../../voice/ai-agents/rehearsal-schema.ts";
import {
  rehearse,
  RehearsedAiAgent,
  validateRehearsed,
} from "../../../voice/ai-agents/rehearse.ts";
import { closed, pageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { TalkInput, TalkStart, type TalkChecks } from "../../../voice/ai-agents/talk-schema.ts";
import type { ApiApp } from "../../api-app.ts";
import { shapeChecker } from "../../checks/check-shape.ts";
import { mergeErrors } from "../../field-errors.ts";
import { route } from "../../route.ts";
import { acceptSocket } from "../../upgrade-sockets.ts";
import { manageContent, seeContent } from "./voice-files.ts";

const agents = "/api/v1/voice/agents";
const params = closed({ id: pathId("The AI agent") });
const tag = "Voice";
const checkStart = shapeChecker(TalkStart);
const checkInput = shapeChecker(TalkInput);

/** Checks a talk's messages; the fields of its AI agent are named as in the AI agent's own requests. */
function talkChecks(app: ApiApp, account_id: number): TalkChecks {
  return {
    async start(message) {
      const { body, violations } = checkStart(message);
      const agent: unknown = (body as Partial<typeof body> | undefined)?.agent;
      const others = await validateAiAgent(app.db.query, account_id, app.aiAgentDrivers, agent);
      const named = violations.map(({ field, reason }) => ({
        field: field.replace(/^agent\./, ""),
        reason,
      }));
      return mergeErrors(named, others);
    },
    input: (message) => checkInput(message).violations,
  };
}

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
    url: `${agents}/talk`,
    id: "previewAiAgent",
    summary: "Talk to an AI agent, saved or not, over a WebSocket",
    description:
      "Binary frames are audio both ways: 8 kHz, mono, signed 16-bit little-endian samples. Text frames are JSON: the first is a TalkStart. Nothing is stored, charged or suppressed, and no call is placed.",
    tag,
    access: manageContent,
    endless: true,
    success: { 101: TalkStart },
    handle: async ({ app, caller, request, reply, reauthorize }) => {
      const account_id = caller.account.id;
      app.talks.refuseTooMany(account_id);
      const socket = await acceptSocket(app, request, reply);
      app.talks.open(socket, { account_id, reauthorize, checks: talkChecks(app, account_id) });
    },
  }),
  route({
    method: "POST",
    url: `${agents}/rehearse`,
    id: "previewAiAgentRehearsals",
    summary: "Hold the rehearsals of a scripted AI agent, saved or not",
    description:
      "Each takes milliseconds: texts are not synthesized, and words are understood as they are written. Nothing is stored, charged or suppressed, and no call is placed.",
    tag,
    access: seeContent,
    body: RehearsedAiAgent,
    success: { 200: RehearsalResults },
    validate: async ({ app, caller, body }) => [
      ...(await validateAiAgent(app.db.query, caller.account.id, app.aiAgentDrivers, body)),
      ...validateRehearsed(app.aiAgentDrivers, body),
    ],
    handle: ({ app, body }) => rehearse(app.aiAgentDrivers, body),
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
