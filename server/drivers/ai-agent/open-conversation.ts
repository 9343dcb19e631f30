// What all AI agents share: emitting events until the conversation ends, and its time limits.
import type { Timers } from "../../lib/timers.ts";
import type { CallMedia } from "../call-media.ts";
import type { AiAgentEndReason, AiAgentEvent, AiAgentPlan, AiAgentTool } from "./driver.ts";

/** The most characters of one utterance that the transcript keeps. */
const utterance_characters_max = 5_000;
/** The most characters of a transcript, more than an hour of talk; each utterance counts as at least a sentence. */
const transcript_characters_max = 500_000;
const utterance_characters_min = 50;
/** How long the last words of a caller who has hung up may take to be understood. */
const last_words_ms_max = 8_000;
/** The shortest interval between checks of the playback queue. */
const check_ms_min = 10;

export type Conversation = {
  readonly isOver: () => boolean;
  /** Resolves when the conversation is over. */
  readonly ended: Promise<void>;
  /** Whether the caller has hung up, so that only an opt-out is still emitted. */
  readonly isHungUp: () => boolean;
  /** Emits that the first audio is queued; later calls are ignored. */
  readonly audible: () => void;
  /** Emits an utterance; an empty text is ignored. */
  readonly said: (who: "agent" | "caller", text: string) => void;
  /** Emits a tool request at once. One that ends the conversation is the last event. */
  readonly tool: (tool: AiAgentTool) => void;
  readonly over: (reason: AiAgentEndReason) => void;
  /** Runs after the delay unless the conversation has ended or the returned function is called first. */
  readonly later: (delay_ms: number, run: () => void) => () => void;
  /** Runs, under the same conditions, once all written audio is played or flushed; at once if none is queued. */
  readonly afterPlayed: (run: () => void) => () => void;
  /** Stops playback at once and emits no further event. Idempotent. */
  readonly stop: () => void;
};

export type ConversationParts = {
  readonly plan: Pick<AiAgentPlan, "silence_seconds" | "max_seconds">;
  readonly media: CallMedia;
  readonly timers: Timers;
  readonly onEvent: (event: AiAgentEvent) => void;
  /** When the current silence began, by the clock of `timers`; null while either side is active. */
  readonly quietSince: () => number | null;
  /** Called when the caller hangs up; returns whether the caller's last words are still to be understood. */
  readonly hungUp: () => boolean;
  /** Called once when the conversation ends, for any reason. */
  readonly stopped: () => void;
};

/** Returns whether this tool ends the conversation. */
export function isLast({ name }: AiAgentTool): boolean {
  return name === "end_call" || name === "transfer_to_agent";
}

/**
 * Opens a conversation and starts its time limits. It ends as `failed` when its transcript is too large, and
 * without an event when the media ends; an opt-out in the caller's last words may follow within seconds.
 */
export function openConversation(parts: ConversationParts): Conversation {
  const { plan, media, timers, onEvent } = parts;
  const pending = new Set<() => void>();
  const ended = Promise.withResolvers<void>();
  let isOver = false;
  let isHungUp = false;
  let isAudible = false;
  let transcript_characters = 0;
  const later = (delay_ms: number, run: () => void) => {
    if (isOver) return () => {};
    const cancel = timers.schedule(() => {
      pending.delete(unschedule);
      run();
    }, delay_ms);
    const unschedule = () => {
      pending.delete(unschedule);
      cancel();
    };
    pending.add(unschedule);
    return unschedule;
  };
  const stop = () => {
    if (isOver) return;
    isOver = true;
    ended.resolve();
    for (const cancel of pending) cancel();
    media.flush();
    parts.stopped();
  };
  const emit = (event: AiAgentEvent, isTheLast: boolean) => {
    if (isOver) return;
    if (isTheLast) stop();
    const isOptOut = event.type === "tool" && event.tool.name === "opt_out";
    if (!isHungUp || isOptOut) onEvent(event);
  };
  const over = (reason: AiAgentEndReason) => emit({ type: "over", reason }, true);
  watchSilence(parts, later, () => over("silence"));
  later(plan.max_seconds * 1_000, () => over("too_long"));
  const hangUp = () => {
    isHungUp = true;
    if (!isOver && parts.hungUp()) later(last_words_ms_max, stop);
    else stop();
  };
  void media.closed.then(hangUp, hangUp);
  return {
    isOver: () => isOver,
    ended: ended.promise,
    isHungUp: () => isHungUp,
    audible() {
      if (!isAudible) emit({ type: "audible" }, false);
      isAudible = true;
    },
    said(who, text) {
      const kept = sanitize(text);
      if (kept === "") return;
      transcript_characters += Math.max(kept.length, utterance_characters_min);
      if (transcript_characters > transcript_characters_max) over("failed");
      else emit({ type: "said", who, text: kept }, false);
    },
    tool: (tool) => emit({ type: "tool", tool }, isLast(tool)),
    over,
    later,
    afterPlayed: (run) => afterPlayed(media, later, () => void (isOver || run())),
    stop,
  };
}

function afterPlayed(media: CallMedia, later: Conversation["later"], run: () => void): () => void {
  let cancel = () => {};
  const check = () => {
    const left_ms = media.queued_ms();
    if (left_ms > 0) cancel = later(Math.max(left_ms, check_ms_min), check);
    else run();
  };
  check();
  return () => cancel();
}

function watchSilence(
  { plan, timers, quietSince }: ConversationParts,
  later: Conversation["later"],
  tooLong: () => void,
): void {
  const silence_ms = plan.silence_seconds * 1_000;
  const watch = (delay_ms: number) => {
    later(delay_ms, () => {
      const now_ms = timers.now();
      const left_ms = silence_ms - (now_ms - (quietSince() ?? now_ms));
      if (left_ms <= 0) tooLong();
      else watch(left_ms);
    });
  };
  watch(silence_ms);
}

/** Returns text that can be stored: well-formed, without NUL, of limited length. */
function sanitize(text: string): string {
  return text.slice(0, utterance_characters_max).toWellFormed().replaceAll("\0", "").trim();
}
