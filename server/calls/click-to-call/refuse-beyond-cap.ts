import { Refusal } from "../../lib/errors.ts";
import type { CallCap } from "./find-call-cap.ts";

const subjects: Readonly<Record<Exclude<CallCap, "number">, string>> = {
  account: "This account has reached its cap on calls",
  token: "This token has reached its cap on calls",
};

/**
 * Throws rate-limited at a cap, with the seconds until the next clock hour, when the count of the hour begins again.
 * `numbers` names the fields with the phones that are called.
 */
export function refuseBeyondCap(cap: CallCap | null, numbers: string, now: Date): void {
  if (cap === null) return;
  const reached =
    cap === "number"
      ? `${numbers} has reached its cap on calls to one phone number`
      : subjects[cap];
  const seconds = Math.ceil((3_600_000 - (now.getTime() % 3_600_000)) / 1_000);
  throw new Refusal(
    "rate-limited",
    `${reached} per hour or day, which the operator of this service sets; try again in ${seconds} s`,
    { headers: { "retry-after": String(seconds) } },
  );
}
