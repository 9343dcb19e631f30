// Parses `number`: ten-digit numbers separated by commas, with optional spaces. A list may have a million
// entries, so validation reads it character by character and allocates no strings for valid entries.

const digits = 10;
const [zero, nine] = [48, 57];
const shown_characters_max = 64;

/** Returns how many numbers a list has, or why its first invalid entry is rejected. */
export function validateNumberList(text: string): number | string {
  let entries = 0;
  for (let from = 0; from <= text.length; entries++) {
    const end = endOfEntry(text, from);
    if (startOfNumber(text, from, end) < 0)
      return reasonAgainst(text.slice(from, end), entries + 1);
    from = end + 1;
  }
  return entries;
}

/** Yields the numbers of a validated list, in batches of at most `batch_max`. */
export function* readNumberList(text: string, batch_max: number): Generator<string[]> {
  let batch: string[] = [];
  for (let from = 0; from <= text.length;) {
    const end = endOfEntry(text, from);
    const start = startOfNumber(text, from, end);
    batch.push(text.slice(start, start + digits));
    from = end + 1;
    if (batch.length < batch_max && from <= text.length) continue;
    yield batch;
    batch = [];
  }
}

function endOfEntry(text: string, from: number): number {
  const at = text.indexOf(",", from);
  return at < 0 ? text.length : at;
}

/** Returns where the number of an entry begins; -1 if the entry is not a number. */
function startOfNumber(text: string, from: number, to: number): number {
  let [first, end] = [from, to];
  while (first < end && isSpace(text.charCodeAt(first))) first++;
  while (end > first && isSpace(text.charCodeAt(end - 1))) end--;
  if (end - first !== digits) return -1;
  for (let at = first; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code < zero || code > nine) return -1;
  }
  return first;
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}

function reasonAgainst(entry: string, position: number): string {
  const rule = "must be numbers of exactly 10 digits, separated by commas";
  const shown = entry.trim().slice(0, shown_characters_max).toWellFormed();
  return shown === ""
    ? `${rule}; entry ${position} is empty`
    : `${rule}; entry ${position} is ${JSON.stringify(shown)}`;
}
