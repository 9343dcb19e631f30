// What the scripted agent does about what it is told: which text, which field, which end.
import type { AgentField, AgentPlan, AgentRule } from "../driver.ts";
import type { Conversation } from "../open-conversation.ts";
import { findRuleForKey, findRuleForWords } from "./find-rule.ts";
import { gatherKeys } from "./gather-keys.ts";
import type { Mouth } from "./open-mouth.ts";

const value_characters_max = 500;

export type Dialog = {
  readonly greet: () => void;
  readonly key: (key: string) => void;
  /** Whoever begins to speak is not talked over. */
  readonly speechBegan: () => void;
  /** What was understood of what was said; "" of what was not. */
  readonly words: (text: string) => void;
  /** More keys may follow. */
  readonly isTakingKeys: () => boolean;
};

/**
 * The greeting, then the fields, each asked until it was answered or passed over by a lone #. Keys are rules'
 * until a field is asked, then they are its answer; words are rules' first, the field's if none fits.
 */
export function openDialog(plan: AgentPlan, mouth: Mouth, conversation: Conversation): Dialog {
  const answered = new Set<string>();
  let asked: AgentField | null = null;
  /** What is to be done when the last words are over. */
  let leave: (() => void) | null = null;
  let wasInterrupted = false;

  const goOn = () => {
    keys.forget();
    asked = plan.fields.find(({ key }) => !answered.has(key)) ?? null;
    if (asked) mouth.say(asked.question, () => {});
    else if (plan.fields.length > 0 && plan.closing !== "") close();
  };
  /** Whoever was asked everything is not left waiting for more. */
  const close = () => {
    leave = () => conversation.tool({ name: "end_call" });
    mouth.say(plan.closing, leave);
  };
  const note = (field: string, value: string) => {
    answered.add(field);
    if (value !== "") conversation.tool({ name: "set_lead_field", field, value });
  };
  const answer = (value: string) => {
    if (asked) note(asked.key, value.slice(0, value_characters_max));
    goOn();
  };
  const keys = gatherKeys({ later: conversation.later, complete: answer });
  const follow = (rule: AgentRule) => {
    keys.forget();
    if (rule.set) note(rule.set.field, rule.set.value);
    leave = leaving(plan, rule, conversation);
    mouth.say(rule.say, leave ?? goOn);
  };
  const notUnderstood = () => mouth.say(plan.fallback, goOn);
  return {
    greet: () => mouth.say(plan.greeting, goOn),
    key(key) {
      conversation.said("caller", `pressed ${key}`);
      mouth.interrupt();
      const rule = findRuleForKey(plan.rules, key);
      if (leave) leave();
      else if (asked) keys.press(key);
      else if (rule) follow(rule);
      else notUnderstood();
    },
    speechBegan() {
      wasInterrupted = mouth.interrupt();
      if (leave && wasInterrupted) leave();
    },
    words(text) {
      conversation.said("caller", text);
      if (leave) return;
      const rule = findRuleForWords(plan.rules, text);
      if (rule) follow(rule);
      else if (text === "") {
        // What cut it off was no word: it starts over, unless it talks again or keys are coming.
        if (wasInterrupted && !mouth.isTalking() && !keys.isOpen()) notUnderstood();
      } else if (asked) answer(text);
      else notUnderstood();
    },
    isTakingKeys: keys.isOpen,
  };
}

/** How the conversation ends with this rule; null: it goes on, also when there is nobody to transfer to. */
function leaving(plan: AgentPlan, rule: AgentRule, { tool }: Conversation): (() => void) | null {
  switch (rule.then) {
    case "transfer":
      return plan.may_transfer ? () => tool({ name: "transfer_to_agent" }) : null;
    case "end":
      return () => tool({ name: "end_call" });
    case "opt_out":
      return () => tool({ name: "opt_out" });
    case "go_on":
      return null;
  }
}
