// Which answer of the server is under way: it gives one at a time, asked for by us or of its own accord.

/** So many that fail in a row are the end. */
const failures_max = 3;
/** Answers that were cut off and may still send something. */
const cut_max = 16;

export type AnswersParts = {
  readonly send: (event: object) => void;
  readonly later: (delay_ms: number, run: () => void) => () => void;
  /** An answer that is under way and sends nothing for so long counts as lost. */
  readonly stall_ms: number;
  readonly failed: () => void;
};

export type Answers = AnswersParts & {
  /** `id` null: asked for and not begun, or in the way of one that was asked for. */
  current: { readonly id: string | null } | null;
  /** Our name for the last one that was asked for. */
  asked: string;
  asks: number;
  /** One more is asked for when the current one is over. */
  isWanted: boolean;
  /** The one that was asked for is cut off as soon as it begins. */
  isNextCut: boolean;
  failures: number;
  stopWatch: () => void;
  readonly cut: Set<string>;
};

export function openAnswers(parts: AnswersParts): Answers {
  return {
    ...parts,
    current: null,
    asked: "",
    asks: 0,
    isWanted: false,
    isNextCut: false,
    failures: 0,
    stopWatch: () => {},
    cut: new Set(),
  };
}

/** Asks for an answer, once the one that is under way is over. */
export function askForAnswer(at: Answers, instructions: string | null = null): void {
  if (at.current !== null) {
    at.isWanted = true;
    return;
  }
  at.isWanted = false;
  at.asks += 1;
  at.asked = `answer-${at.asks}`;
  const more = instructions === null ? {} : { response: { instructions } };
  at.send({ type: "response.create", event_id: at.asked, ...more });
  become(at, { id: null });
}

/** An answer is under way. */
export function beginAnswer(at: Answers, id: string): void {
  const isUnwanted = at.isNextCut;
  at.isNextCut = false;
  become(at, { id });
  if (isUnwanted) cutId(at, id);
}

/** An answer is over; `ok` false: the server could not give it. */
export function endAnswer(at: Answers, id: string, ok: boolean): void {
  if (at.current !== null && (at.current.id === null || at.current.id === id)) settle(at, ok);
}

/** The server refused the event `of` ours: perhaps the last ask. */
export function refuseAnswer(at: Answers, of: string | null, code: string | null): void {
  if (of !== at.asked || at.current?.id !== null) return;
  if (code === "conversation_already_has_active_response") at.isWanted = true;
  else settle(at, false);
}

/**
 * Nothing more is taken of the answer that is under way; gives its id. `next`: nor of one that was asked for
 * and did not begin yet.
 */
export function cutAnswer(at: Answers, { next }: { readonly next: boolean }): string | null {
  at.isWanted = false;
  const id = at.current?.id ?? null;
  if (id !== null && !at.cut.has(id)) cutId(at, id);
  else if (at.current !== null && id === null) at.isNextCut = next;
  return id;
}

/** A sign of life of the server: the answer that is under way may take its time again. */
export function watchAnswer(at: Answers): void {
  at.stopWatch();
  at.stopWatch = at.current === null ? () => {} : at.later(at.stall_ms, at.failed);
}

function become(at: Answers, current: Answers["current"]): void {
  at.current = current;
  watchAnswer(at);
}

function cutId(at: Answers, id: string): void {
  at.cut.add(id);
  if (at.cut.size > cut_max) at.cut.delete(at.cut.values().next().value ?? "");
  at.send({ type: "response.cancel", response_id: id });
}

function settle(at: Answers, ok: boolean): void {
  become(at, null);
  at.isNextCut = false;
  at.failures = ok ? 0 : at.failures + 1;
  if (at.failures >= failures_max) at.failed();
  else if (at.isWanted || !ok) askForAnswer(at);
}
