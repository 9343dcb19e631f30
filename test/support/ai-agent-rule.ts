/** A rule of a scripted AI agent, as the API takes it. */
export function aiAgentRule(keys: string, word: string, say: string, then: string) {
  // oxlint-disable-next-line unicorn/no-thenable -- a field of the API
  return { keys, keywords: [word], say, then };
}
