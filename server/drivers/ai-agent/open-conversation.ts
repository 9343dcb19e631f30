// What all agents have in common: what is told and when nothing is told any more, and the limits of time.
import type { Timers } from "../../lib/timers.ts";
import type { CallMedia } from "../call-media.ts";
import type { AgentEnd, AgentEvent, AgentPlan, AgentTool } from "./driver.ts";

/** What is told of one turn at most; a transcript is no place for a book. */
const text_characters_max = 5_000;
/** What is told of all turns, of which each counts as a sentence at least: nobody says more in an hour. */
const told_characters_max = 500_000;
const turn_characters_min = 50;
/** What is played is asked about this often at most. */
const look_ms_min = 10;

export type Conversation = {
  readonly isOver: () => boolean;
  /** Of a text with nothing in it nothing is told. */
  readonly said: (who: "agent" | "caller", text: string) => void;
  /** Told at once. After one that ends the conversation nothing follows. */
  readonly tool: (tool: AgentTool) => void;
  readonly over: (reason: AgentEnd) => void;
  /** Runs after the delay unless the conversation is over by then or the answer was called. */
  readonly later: (delay_ms: number, run: () => void) => () => void;
  /** The same, when all that was written has been played or flushed; at once if nothing is left. */
  readonly afterPlayed: (run: () => void) => () => void;
  /** Silent at once; nothing is told any more. May be repeated. */
  readonly stop: () => void;
};

export type ConversationParts = {
  readonly plan: Pick<AgentPlan, "silence_seconds" | "max_seconds">;
  readonly media: CallMedia;
  readonly timers: Timers;
  readonly hear: (event: AgentEvent) => void;
  /** By the clock of `timers`: since when nobody says or does anything; null while somebody does. */
  readonly quietSince: () => number | null;
  /** Called once, when it is over, whoever ended it. */
  readonly stopped: () => void;
};

/** Whether a conversation ends with this tool. */
export function isLast({ name }: AgentTool): boolean {
  return name === "end_call" || name === "transfer_to_agent" || name === "opt_out";
}

/** Begins the clocks. Over as failed when too much is said, and without a word when the media ends. */
export function openConversation(parts: ConversationParts): Conversation {
  const { plan, media, timers, hear } = parts;
  const pending = new Set<() => void>();
  let isOver = false;
  let told_characters = 0;
  const later = (delay_ms: number, run: () => void) => {
    if (isOver) return () => {};
    const cancel = timers.schedule(() => {
      pending.delete(forget);
      run();
    }, delay_ms);
    const forget = () => {
      pending.delete(forget);
      cancel();
    };
    pending.add(forget);
    return forget;
  };
  const stop = () => {
    if (isOver) return;
    isOver = true;
    for (const cancel of pending) cancel();
    media.flush();
    parts.stopped();
  };
  const tell = (event: AgentEvent, isTheLast: boolean) => {
    if (isOver) return;
    if (isTheLast) stop();
    hear(event);
  };
  const over = (reason: AgentEnd) => tell({ type: "over", reason }, true);
  const watchSilence = (delay_ms: number) => {
    later(delay_ms, () => {
      const now_ms = timers.now();
      const left_ms = plan.silence_seconds * 1_000 - (now_ms - (parts.quietSince() ?? now_ms));
      if (left_ms <= 0) over("silence");
      else watchSilence(left_ms);
    });
  };
  watchSilence(plan.silence_seconds * 1_000);
  later(plan.max_seconds * 1_000, () => over("too_long"));
  void media.closed.then(stop, stop);
  return {
    isOver: () => isOver,
    said(who, text) {
      const kept = tidy(text);
      if (kept === "") return;
      told_characters += Math.max(kept.length, turn_characters_min);
      if (told_characters > told_characters_max) over("failed");
      else tell({ type: "said", who, text: kept }, false);
    },
    tool: (tool) => tell({ type: "tool", tool }, isLast(tool)),
    over,
    later,
    afterPlayed(run) {
      let cancel = () => {};
      const look = () => {
        const left_ms = media.queued_ms();
        if (left_ms > 0) cancel = later(Math.max(left_ms, look_ms_min), look);
        else if (!isOver) run();
      };
      look();
      return () => cancel();
    },
    stop,
  };
}

/** Text that can be stored: whole characters, no NUL, not without end. */
function tidy(text: string): string {
  return text.slice(0, text_characters_max).toWellFormed().replaceAll("\0", "").trim();
}
