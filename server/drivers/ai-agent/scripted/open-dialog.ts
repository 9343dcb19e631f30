// The dialog of the scripted AI agent: what it says next, which field it asks for and how the call continues.
import type { AiAgentField, AiAgentPlan, AiAgentRule } from "../driver.ts";
import type { Conversation } from "../open-conversation.ts";
import { findOptOutForKeys, findRuleForKey, findRuleForUtterance } from "./find-rule.ts";
import { collectDigits } from "./collect-digits.ts";
import type { AudioOutput } from "./open-audio-output.ts";

const value_characters_max = 500;

export type Dialog = {
  readonly greet: () => void;
  readonly handleKey: (key: string) => void;
  /** Stops the current text when the caller begins to speak. */
  readonly handleSpeechStart: () => void;
  /** Handles the transcript of the caller's speech; "" if nothing was recognized and the caller is silent again. */
  readonly handleTranscript: (text: string) => void;
  /** The caller has hung up: no key follows the ones that were pressed. */
  readonly handleHangUp: () => void;
  /** Returns whether more keys may follow. */
  readonly isCollectingKeys: () => boolean;
};

/**
 * Says the greeting, then asks each field until it is answered or skipped by # alone. Keys are matched with rules
 * until a field is asked, then they answer it; the single key of an opt-out remains one. Speech is matched with rules
 * first and answers the field otherwise.
 */
export function openDialog(
  plan: AiAgentPlan,
  output: AudioOutput,
  conversation: Conversation,
): Dialog {
  const answers = openAnswers(conversation);
  let asked: AiAgentField | null = null;
  /** Ends the conversation after the final text. */
  let finish: (() => void) | null = null;
  let wasInterrupted = false;
  let hasOptedOut = false;

  const proceed = () => {
    keys.reset();
    wasInterrupted = false;
    asked = plan.fields.find(({ key }) => !answers.has(key)) ?? null;
    if (asked) output.say(asked.question, () => {});
    else if (plan.fields.length > 0 && plan.closing !== "")
      // Every field is asked: the caller does not wait for more.
      output.say(plan.closing, (finish = () => conversation.tool({ name: "end_call" })));
  };
  const answer = (value: string, optOut: AiAgentRule | null = null) => {
    if (optOut) return follow(optOut);
    if (asked) answers.note(asked.key, storable(value));
    proceed();
  };
  const complete = (pressed: string) => answer(pressed, findOptOutForKeys(plan.rules, pressed));
  const keys = collectDigits({ later: conversation.later, complete });
  const follow = (rule: AiAgentRule) => {
    keys.reset();
    if (rule.set) answers.note(rule.set.field, rule.set.value);
    hasOptedOut ||= rule.then === "opt_out";
    if (rule.then === "opt_out") conversation.tool({ name: "opt_out" });
    finish = endingOf(plan, rule, conversation);
    output.say(rule.say, finish ?? proceed);
  };
  const sayFallback = () => output.say(plan.fallback, proceed);
  /** The opt-out whose key was pressed while a field is asked, until another key follows. */
  const pressedOptOut = () => findOptOutForKeys(plan.rules, keys.pressed());
  return {
    greet: () => output.say(plan.greeting, proceed),
    handleKey(key) {
      conversation.said("caller", `pressed ${key}`);
      output.interrupt();
      const rule = findRuleForKey(plan.rules, key);
      if (finish && rule?.then === "opt_out" && !hasOptedOut) follow(rule);
      else if (finish) finish();
      else if (asked) keys.press(key);
      else if (rule) follow(rule);
      else sayFallback();
    },
    handleSpeechStart: () => void (wasInterrupted = output.interrupt() || wasInterrupted),
    handleTranscript(text) {
      conversation.said("caller", text);
      const rule = (text !== "" && pressedOptOut()) || findRuleForUtterance(plan.rules, text);
      if (finish) {
        // The caller may opt out during the final text.
        if (rule?.then === "opt_out" && !hasOptedOut) follow(rule);
        else if (!output.isTalking()) finish();
      } else if (rule) follow(rule);
      else if (text === "") {
        // A noise interrupted the text: say the fallback, unless another text plays or keys follow.
        if (wasInterrupted && !output.isTalking() && !keys.isCollecting()) sayFallback();
      } else if (asked) answer(text);
      else sayFallback();
    },
    handleHangUp: () => (pressedOptOut() ? keys.press("#") : undefined),
    isCollectingKeys: keys.isCollecting,
  };
}

/** Returns text that JSON in the database may contain: well-formed, without NUL, of limited length. */
function storable(value: string): string {
  return value.slice(0, value_characters_max).toWellFormed().replaceAll("\0", "");
}

/** The fields that are answered, also by a rule, or skipped. */
function openAnswers({ tool }: Conversation) {
  const answered = new Set<string>();
  return {
    has: (field: string) => answered.has(field),
    note(field: string, value: string) {
      answered.add(field);
      if (value !== "") tool({ name: "set_lead_field", field, value });
    },
  };
}

/** Returns how this rule ends the conversation; null: it continues, as it does if no transfer is possible. */
function endingOf(
  plan: AiAgentPlan,
  rule: AiAgentRule,
  { tool }: Conversation,
): (() => void) | null {
  switch (rule.then) {
    case "transfer":
      return plan.may_transfer ? () => tool({ name: "transfer_to_agent" }) : null;
    case "end":
    case "opt_out":
      return () => tool({ name: "end_call" });
    case "go_on":
      return null;
  }
}
