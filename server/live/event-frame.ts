/** A message of a stream of server-sent events (WHATWG HTML, 9.2); no part may hold a line break. */
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
    // Alone it moves on what a client resumes from, and tells it nothing.
    id === undefined ? "" : `id: ${id}\n`,
    event === undefined ? "" : `event: ${event}\n`,
    data === undefined ? "" : `data: ${data}\n`,
  ];
  return `${lines.join("")}\n`;
}
