// Matches the replies by which a customer opts out.

/** Returns a test that ignores case and surrounding white space. */
export function stopWordTest(words: readonly string[]): (text: string) => boolean {
  const folded = new Set(words.map(fold));
  return (text) => folded.has(fold(text));
}

function fold(text: string): string {
  // Upper case first, because it merges more spellings than lower case ("ß" and "SS").
  return text.normalize("NFC").trim().toUpperCase().toLowerCase();
}
