import { VoiceError } from "./driver.ts";

/** Returns the number or caller ID as it is. Throws VoiceError for characters that no switch may be sent, and if empty. */
export function checkNumber(number: string): string {
  if (/^[0-9+*#]{1,32}$/.test(number)) return number;
  throw new VoiceError("refused", "the number must be 1-32 digits, +, * or #", {
    ending: { outcome: "invalid", cause: null, sip_status: null, by: "far_end" },
  });
}
