/**
 * Returns the range of ten-digit numbers that start with these digits, or null for more than ten digits.
 * Every collation orders digit strings of one length alike, so the plain index on phone serves a range,
 * while LIKE would need a C collation.
 */
export function phonePrefixRange(digits: string): { from: string; to: string } | null {
  if (digits.length > 10) return null;
  return { from: digits.padEnd(10, "0"), to: digits.padEnd(10, "9") };
}
