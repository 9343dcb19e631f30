// An IVR menu as it was when its campaign was launched.

/** What is played: a clip, or a text that is spoken with the recipient's and the captured {{variables}}. */
export type Prompt =
  | { readonly audio: { readonly name: string; readonly duration_ms: number } }
  | { readonly say: string; readonly language: string };

/** Names a node of the menu. */
export type NodeName = string;

/**
 * One node. `next` and the like name the node that follows.
 * - play: plays, goes on.
 * - menu: plays and waits for a key of `keys`; a key breaks in. `timeout_seconds` after the prompt without a
 *   key, and after a wrong key, it is asked again, `tries` times in all; then `otherwise`.
 * - capture: takes `min_digits` to `max_digits`, ended by `#`, by the last digit or by the time-out.
 * - record: takes a message.
 * - transfer: to an agent; `otherwise` when nobody answers.
 * - opt_out: calls never again; says so and hangs up.
 * - set_field: notes a value for the caller's lead.
 * - hang_up: says a last word, if there is one.
 */
export type MenuNode =
  | { readonly type: "play"; readonly prompt: Prompt; readonly next: NodeName }
  | {
      readonly type: "menu";
      readonly prompt: Prompt;
      /** A key of 0-9, * or # to the node it leads to. */
      readonly keys: Readonly<Record<string, NodeName>>;
      readonly invalid_prompt: Prompt | null;
      readonly timeout_seconds: number;
      readonly tries: number;
      readonly otherwise: NodeName;
    }
  | {
      readonly type: "capture";
      readonly prompt: Prompt;
      readonly variable: string;
      readonly min_digits: number;
      readonly max_digits: number;
      readonly invalid_prompt: Prompt | null;
      readonly timeout_seconds: number;
      readonly tries: number;
      readonly next: NodeName;
      readonly otherwise: NodeName;
    }
  | {
      readonly type: "record";
      readonly prompt: Prompt;
      readonly max_seconds: number;
      readonly silence_seconds: number;
      readonly next: NodeName;
    }
  | {
      readonly type: "transfer";
      readonly prompt: Prompt | null;
      readonly to: TransferTarget;
      readonly otherwise: NodeName;
    }
  | { readonly type: "opt_out"; readonly prompt: Prompt | null }
  | {
      readonly type: "set_field";
      /** Of the lead: a custom field's key. */
      readonly field: string;
      /** May hold {{variables}}. */
      readonly value: string;
      readonly next: NodeName;
    }
  | { readonly type: "hang_up"; readonly prompt: Prompt | null };

/** Where a caller is transferred to. */
export type TransferTarget = { readonly extension: string } | { readonly agent_group_id: number };

export type Menu = {
  readonly start: NodeName;
  readonly nodes: Readonly<Record<NodeName, MenuNode>>;
};
