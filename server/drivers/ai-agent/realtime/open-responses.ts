// Tracks the response in progress. A server has one at a time, requested by us or begun by itself.

/** The conversation fails after this many failed responses in a row. */
const failures_max = 3;
/** The delays before the repeats of a failed response: the server's rate limit may be reached. */
const repeat_delays_ms = [500, 2_000] as const;
/** Canceled responses from which events may still arrive. */
const canceled_max = 16;

export type ResponsesParts = {
  readonly send: (event: object) => void;
  readonly later: (delay_ms: number, run: () => void) => () => void;
  /** A response without an event for this long counts as failed. */
  readonly stall_ms: number;
  /** Returns the instructions for the repeat of a failed response. */
  readonly repeatInstructions: () => string | null;
  readonly failed: () => void;
};

export type Responses = ResponsesParts & {
  /** `id` null: requested and not created yet, or an unknown response that blocks the requested one. */
  current: { readonly id: string | null } | null;
  /** The event ID of the last request; "": none, or it was rejected. */
  request_id: string;
  requests: number;
  /** Another response is requested once the current one ends. */
  isWanted: boolean;
  /** The requested response is canceled as soon as it is created. */
  isNextCanceled: boolean;
  failures: number;
  /** Cancels the repeat of a failed response; null: none is due. */
  stopRepeat: (() => void) | null;
  stopWatch: () => void;
  readonly canceled: Set<string>;
};

export function openResponses(parts: ResponsesParts): Responses {
  return {
    ...parts,
    current: null,
    request_id: "",
    requests: 0,
    isWanted: false,
    isNextCanceled: false,
    failures: 0,
    stopRepeat: null,
    stopWatch: () => {},
    canceled: new Set(),
  };
}

/** Reports whether a response is in progress or will be repeated. */
export function isResponding({ current, stopRepeat }: Responses): boolean {
  return current !== null || stopRepeat !== null;
}

/** Requests a response, after the one in progress if there is one. */
export function requestResponse(state: Responses, instructions: string | null = null): void {
  if (isResponding(state)) {
    state.isWanted = true;
    return;
  }
  state.isWanted = false;
  state.requests += 1;
  state.request_id = `response-${state.requests}`;
  const more = instructions === null ? {} : { response: { instructions } };
  state.send({ type: "response.create", event_id: state.request_id, ...more });
  setCurrent(state, { id: null });
}

/** Records that a response was created. */
export function beginResponse(state: Responses, id: string): void {
  cancelRepeat(state);
  const isUnwanted = state.isNextCanceled;
  state.isNextCanceled = false;
  setCurrent(state, { id });
  if (isUnwanted) cancelId(state, id);
}

/** Records that a response ended; `ok` false: it failed. */
export function endResponse(state: Responses, id: string, ok: boolean): void {
  if (state.current !== null && (state.current.id === null || state.current.id === id))
    settle(state, ok);
}

/** Handles the server's rejection of the client event `of`, which may be the last request. */
export function rejectResponse(state: Responses, of: string | null, code: string | null): void {
  if (of !== state.request_id) return;
  state.request_id = "";
  // The server had begun a response by itself, which may be known or have ended by now.
  if (code === "conversation_already_has_active_response") requestResponse(state);
  else if (state.current?.id === null) settle(state, false);
}

/**
 * Cancels the response in progress and returns its ID; cancels the repeat of a failed one. `next`: also cancels a
 * requested response that is not created yet.
 */
export function cancelResponse(
  state: Responses,
  { next }: { readonly next: boolean },
): string | null {
  state.isWanted = false;
  cancelRepeat(state);
  const id = state.current?.id ?? null;
  if (id !== null && !state.canceled.has(id)) cancelId(state, id);
  else if (state.current !== null && id === null) state.isNextCanceled ||= next;
  return id;
}

/** Restarts the stall timeout of the response in progress. */
export function watchResponse(state: Responses): void {
  state.stopWatch();
  state.stopWatch = state.current === null ? () => {} : state.later(state.stall_ms, state.failed);
}

function setCurrent(state: Responses, current: Responses["current"]): void {
  state.current = current;
  watchResponse(state);
}

function cancelId(state: Responses, id: string): void {
  state.canceled.add(id);
  if (state.canceled.size > canceled_max)
    state.canceled.delete(state.canceled.values().next().value ?? "");
  state.send({ type: "response.cancel", response_id: id });
}

function settle(state: Responses, ok: boolean): void {
  setCurrent(state, null);
  state.isNextCanceled = false;
  state.failures = ok ? 0 : state.failures + 1;
  if (state.failures >= failures_max) state.failed();
  else if (!ok) repeatLater(state);
  else if (state.isWanted) requestResponse(state);
}

function repeatLater(state: Responses): void {
  state.stopRepeat = state.later(repeat_delays_ms[state.failures - 1]!, () => {
    state.stopRepeat = null;
    const { isWanted } = state;
    const instructions = state.repeatInstructions();
    requestResponse(state, instructions);
    // A response with instructions answers nothing that was said meanwhile.
    state.isWanted = isWanted && instructions !== null;
  });
}

function cancelRepeat(state: Responses): void {
  state.stopRepeat?.();
  state.stopRepeat = null;
}
