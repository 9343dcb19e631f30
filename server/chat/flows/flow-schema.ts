// API schemas of chat flows and automation flows. For campaigns, both are named opening messages; they
// differ only in the type of their IDs.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import type { FieldError } from "../../lib/errors.ts";
import { closed, id, optional, timestamp } from "../../lib/schemas.ts";
import {
  validateOpening,
  OpeningResponse,
  OpeningInput,
  type OpeningMessage,
} from "../messages/opening-message.ts";

/** A kind of flow, named by its table. */
export type FlowKind = "chat_flows" | "automation_flows";

const name = shownName("Unique among the account's flows of its kind");
const active = Type.Boolean({ description: "No campaign starts with an inactive one" });
const example = {
  type: "interactive",
  body: "Hello {{1}}, shall we call you?",
  buttons: [{ title: "Yes" }, { title: "No" }],
  variable_defaults: { "1": "there" },
};

/** The body of a flow's creation; validateFlow checks the rules that a schema cannot express. */
export const NewFlow = closed(
  { name, active: optional(active), opening: OpeningInput },
  { title: "NewFlow", examples: [{ name: "Call back", opening: example }] },
);
export type NewFlow = Static<typeof NewFlow>;

/** The body of a flow's patch; an opening replaces the previous one as a whole. */
export const FlowPatch = closed(
  {
    name: Type.Optional(name),
    active: Type.Optional(active),
    opening: Type.Optional(OpeningInput),
  },
  { title: "FlowPatch", minProperties: 1, examples: [{ active: false }] },
);
export type FlowPatch = Static<typeof FlowPatch>;

const answer = {
  name: Type.String(),
  active: Type.Boolean(),
  opening: OpeningResponse,
  created_at: timestamp("UTC"),
  updated_at: timestamp("UTC"),
};
export const ChatFlowResponse = Type.Object(
  { id: id("Chat flow id"), ...answer },
  { title: "ChatFlow" },
);
export const AutomationFlowResponse = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    ...answer,
  },
  { title: "AutomationFlow" },
);
/** The ID is a number for a chat flow and a UUID for an automation flow. */
export type FlowResponse = Omit<Static<typeof ChatFlowResponse>, "id"> & { id: number | string };

/** Checks the rules that a schema cannot express; the body of a creation or patch may have any shape. */
export function validateFlow(body: unknown): FieldError[] {
  if (typeof body !== "object" || body === null) return [];
  return validateOpening((body as Record<string, unknown>)["opening"], "opening");
}

/** The columns that `flowResponse` needs. */
export const flow_columns = [
  "id",
  "name",
  "active",
  "opening",
  "created_at",
  "updated_at",
] as const;

export type FlowRow = {
  id: number | string;
  name: string;
  active: boolean;
  opening: unknown;
  created_at: Date;
  updated_at: Date;
};

export function flowResponse(row: FlowRow): FlowResponse {
  return {
    ...row,
    opening: row.opening as OpeningMessage,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
