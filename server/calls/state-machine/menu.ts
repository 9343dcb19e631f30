// An IVR menu, as it was when its campaign was launched.

/** An audio, or a text that is synthesized with the recipient's and the captured {{variables}}. */
export type Prompt =
  | { readonly audio: { readonly name: string; readonly duration_ms: number } }
  | { readonly say: string; readonly language: string };

/** The name of a node of the menu. */
export type NodeName = string;

/**
 * One node. `next`, `otherwise` and `keys` name the node that follows.
 * - play: plays a prompt and continues.
 * - menu: plays and waits for a key of `keys`; a key interrupts. After `timeout_seconds` without a key, or an
 *   invalid key, it asks again, `tries` times in all; then `otherwise`.
 * - capture: collects `min_digits` to `max_digits`, ended by `#`, by the last digit or by the time-out.
 * - record: records a message.
 * - transfer: transfers to an agent; `otherwise` when no agent answers.
 * - callback: calls the recipient again after `delay_minutes`, confirms it and hangs up.
 * - opt_out: suppresses further calls, confirms it and hangs up.
 * - set_field: sets a field of the caller's lead.
 * - hang_up: plays a last prompt, if there is one, and hangs up.
 */
export type MenuNode =
  | { readonly type: "play"; readonly prompt: Prompt; readonly next: NodeName }
  | {
      readonly type: "menu";
      readonly prompt: Prompt;
      /** Maps a key (0-9, * or #) to the node it leads to. */
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
  | {
      readonly type: "callback";
      readonly prompt: Prompt | null;
      readonly delay_minutes: number;
    }
  | { readonly type: "opt_out"; readonly prompt: Prompt | null }
  | {
      readonly type: "set_field";
      /** The key of a custom field of the lead. */
      readonly field: string;
      /** May contain {{variables}}. */
      readonly value: string;
      readonly next: NodeName;
    }
  | { readonly type: "hang_up"; readonly prompt: Prompt | null };

/** The target of a transfer. */
export type TransferTarget = { readonly extension: string } | { readonly agent_group_id: number };

export type Menu = {
  readonly start: NodeName;
  readonly nodes: Readonly<Record<NodeName, MenuNode>>;
};
