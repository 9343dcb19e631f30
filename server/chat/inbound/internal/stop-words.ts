// The words by which a customer asks us to write no more.

/** Compares as people write: without case, and without space around. */
export function stopWordTest(words: readonly string[]): (text: string) => boolean {
  const folded = new Set(words.map(fold));
  return (text) => folded.has(fold(text));
}

function fold(text: string): string {
  // Upper case first: it tells apart less than lower case does ("ß" and "SS").
  return text.normalize("NFC").trim().toUpperCase().toLowerCase();
}
