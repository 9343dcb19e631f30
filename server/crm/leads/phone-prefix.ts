/**
 * The range of ten-digit numbers that start with these digits, or null when there is none: more
 * than ten digits. A range, because every collation orders digit strings of one length alike, so
 * the plain index on phone serves it, which LIKE needs a C collation for.
 */
export function phonePrefixRange(digits: string): { from: string; to: string } | null {
  if (digits.length > 10) return null;
  return { from: digits.padEnd(10, "0"), to: digits.padEnd(10, "9") };
}
