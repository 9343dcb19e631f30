import type { PhoneReader } from "../../../lib/chat-phone-numbers.ts";
import { openNumberSet } from "../../../lib/open-number-set.ts";

/** A number that was left out: as it was sent, and why. */
export type TrimmedNumber = {
  readonly phone_number: string;
  readonly reason: "invalid" | "duplicate" | "blacklisted";
};

/** What became of the numbers so far. */
export type NumberCounts = {
  readonly valid: number;
  readonly invalid: number;
  readonly duplicate: number;
};

export type Trimming = {
  /** The digits of a recipient; null for a number that is trimmed. Of equal numbers the first one stays. */
  take(text: string): string | null;
  counts(): NumberCounts;
  /** The first numbers trimmed. */
  readonly samples: readonly TrimmedNumber[];
};

/** How many trimmed numbers are shown. */
export const samples_max = 20;
const shown_characters_max = 64;

export function openTrimming(read: PhoneReader): Trimming {
  const seen = openNumberSet();
  const counts = { valid: 0, invalid: 0, duplicate: 0 };
  const samples: TrimmedNumber[] = [];
  const trim = (text: string, reason: "invalid" | "duplicate") => {
    counts[reason]++;
    if (samples.length < samples_max)
      samples.push({ phone_number: text.slice(0, shown_characters_max).toWellFormed(), reason });
    return null;
  };
  return {
    take(text) {
      const digits = read(text);
      if (digits === null) return trim(text, "invalid");
      if (!seen.add(digits)) return trim(text, "duplicate");
      counts.valid++;
      return digits;
    },
    counts: () => ({ ...counts }),
    samples,
  };
}
