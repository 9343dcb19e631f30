/** Says an action of the audit trail in words: `voice_file.created` as "Voice file created". */
export function describeAction(action: string): string {
  const words = action.replaceAll(/[._]/g, " ").replace(/^ai /, "AI ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
