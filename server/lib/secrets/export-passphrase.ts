const characters_min = 16;

/** Validates the setting TRUNKLINE_EXPORT_PASSPHRASE; null if it is not set. */
export function exportPassphrase(
  text: string | null,
  violation: (text: string) => void,
): string | null {
  if (!text) return null;
  if (text.length < characters_min)
    violation(`TRUNKLINE_EXPORT_PASSPHRASE: must have at least ${characters_min} characters`);
  return text;
}
