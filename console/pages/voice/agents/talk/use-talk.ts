import { useEffect, useRef, useState } from "react";
import type { TalkOutput } from "../../../../../server/voice/ai-agents/talk-schema.ts";
import type { FieldError } from "../../../../../server/lib/errors.ts";
import type { AgentDraft } from "../agent-draft.ts";
import { openTalk, type Talk } from "./open-talk.ts";

type Said = { readonly who: "agent" | "caller"; readonly text: string };
type Tool = Extract<TalkOutput, { type: "tool" }>["tool"];

/** What a talk has come to so far. */
export type TalkState = {
  readonly status: "idle" | "connecting" | "talking" | "ended";
  readonly hasMicrophone: boolean;
  readonly said: readonly Said[];
  readonly fields: Readonly<Record<string, string>>;
  /** What a real call would have done, in order. */
  readonly tools: readonly Exclude<Tool, { name: "set_lead_field" }>[];
  /** Why it ended, if the agent or the service ended it. */
  readonly end: string | null;
};

const idle: TalkState = {
  status: "idle",
  hasMicrophone: true,
  said: [],
  fields: {},
  tools: [],
  end: null,
};

const ends: Readonly<Record<string, string>> = {
  silence: "It ended after the silence that its limits allow.",
  too_long: "It ended after the longest conversation that its limits allow.",
  failed:
    "It could not go on: speech or the model failed. On a call, a person would take over if there is a transfer.",
};

/** A talk of the page, which ends with it. `onInvalid` gets the errors of the draft's fields. */
export function useTalk(onInvalid: (errors: readonly FieldError[]) => void) {
  const [state, setState] = useState(idle);
  const talk = useRef<Talk | null>(null);
  const isLeft = useRef(false);
  useEffect(() => {
    isLeft.current = false;
    return () => {
      isLeft.current = true;
      talk.current?.hangUp();
    };
  }, []);
  const change = (make: (old: TalkState) => Partial<TalkState>) =>
    setState((old) => ({ ...old, ...make(old) }));
  const onMessage = (message: TalkOutput) => {
    if (message.type === "invalid") onInvalid(message.errors);
    change((old) => afterMessage(old, message));
  };
  return {
    state,
    async begin(agent: AgentDraft, variables: Readonly<Record<string, string>>) {
      onInvalid([]);
      setState({ ...idle, status: "connecting" });
      const failed = (error: unknown) =>
        change(() => ({
          status: "ended",
          end: error instanceof Error ? error.message : String(error),
        }));
      talk.current = await openTalk(agent, variables, {
        onBegin: (hasMicrophone) => change(() => ({ status: "talking", hasMicrophone })),
        onMessage,
        onEnd: (reason) => change((old) => ({ status: "ended", end: old.end ?? reason })),
      }).catch((error: unknown) => {
        failed(error);
        return null;
      });
      // The page was left while the browser asked for the microphone.
      if (isLeft.current) talk.current?.hangUp();
    },
    send: (input: Parameters<Talk["send"]>[0]) => talk.current?.send(input),
    hangUp: () => talk.current?.hangUp(),
  };
}

function afterMessage(old: TalkState, message: TalkOutput): Partial<TalkState> {
  switch (message.type) {
    case "said":
      return { said: [...old.said, { who: message.who, text: message.text }] };
    case "tool":
      return message.tool.name === "set_lead_field"
        ? { fields: { ...old.fields, [message.tool.field]: message.tool.value } }
        : { tools: [...old.tools, message.tool] };
    case "over":
      return { end: ends[message.reason] ?? message.reason };
    case "unavailable":
      return { end: `It could not begin: ${message.reason}.` };
    case "invalid":
      return { end: "Correct the marked fields first." };
    case "ready":
    case "audible":
    case "flush":
      return {};
  }
}
