/** Returns a server-sent event (WHATWG HTML, 9.2); no part may contain a line break. */
export function eventFrame(parts: {
  readonly comment?: string;
  readonly retry_ms?: number;
  readonly id?: number | undefined;
  readonly event?: string;
  readonly data?: string;
}): string {
  const { comment, retry_ms, id, event, data } = parts;
  const lines = [
    comment === undefined ? "" : `: ${comment}\n`,
    retry_ms === undefined ? "" : `retry: ${retry_ms}\n`,
    // An id without data moves the client's resume position and dispatches no event.
    id === undefined ? "" : `id: ${id}\n`,
    event === undefined ? "" : `event: ${event}\n`,
    data === undefined ? "" : `data: ${data}\n`,
  ];
  return `${lines.join("")}\n`;
}
