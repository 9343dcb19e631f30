/**
 * Returns the transcription settings of a session. Newer models take a list of languages instead of one, and
 * never both.
 */
export function describeTranscription(model: string, language: string): object {
  const code = language.split("-")[0]!;
  const isNewer = /^gpt-(?:live-)?transcribe\b/.test(model);
  return { model, ...(isNewer ? { languages: [code] } : { language: code }) };
}
