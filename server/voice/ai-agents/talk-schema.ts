// What a person and an AI agent send each other when they talk over a WebSocket.
import Type, { type Static } from "typebox";
import type { AiAgentEvent } from "../../drivers/ai-agent/driver.ts";
import type { FieldError } from "../../lib/errors.ts";
import { closed, mapOf, optional } from "../../lib/schemas.ts";
import { NewAiAgent } from "./ai-agent-schema.ts";

/** An AI agent as it stands in a form. */
export const TriedAiAgent = closed(
  { ...NewAiAgent.properties, name: optional(NewAiAgent.properties.name) },
  { title: "TriedAiAgent", description: "An AI agent, saved or not" },
);
export type TriedAiAgent = Static<typeof TriedAiAgent>;

/** The AI agent, and a recipient's values. */
const tried = {
  agent: TriedAiAgent,
  variables: optional(
    mapOf(Type.String(), {
      maxProperties: 500,
      description: "The recipient's values of {{variables}}",
    }),
  ),
};

/** The first text frame. */
export const TalkStart = closed({ type: Type.Literal("start"), ...tried }, { title: "TalkStart" });
export type TalkStart = Static<typeof TalkStart>;

/** A later text frame. */
export const TalkInput = Type.Union([
  closed({ type: Type.Literal("key"), key: Type.String({ pattern: "^[0-9*#]$" }) }),
  closed({ type: Type.Literal("text"), text: Type.String({ minLength: 1, maxLength: 1_000 }) }),
]);
export type TalkInput = Static<typeof TalkInput>;

/** What the server sends as text frames. */
export type TalkOutput =
  /** Some fields of `start` are not valid; the last message. */
  | { readonly type: "invalid"; readonly errors: readonly FieldError[] }
  /** The AI agent could not be set up; the last message. */
  | { readonly type: "unavailable"; readonly reason: string }
  /** The AI agent begins; audio follows as binary frames. */
  | { readonly type: "ready" }
  /** Audio that was sent and not played yet is to be discarded. */
  | { readonly type: "flush" }
  | AiAgentEvent;

/** Checks messages against their schemas; a message that is not valid has violations. */
export type TalkChecks = {
  readonly start: (message: unknown) => Promise<readonly FieldError[]>;
  readonly input: (message: unknown) => readonly FieldError[];
};
