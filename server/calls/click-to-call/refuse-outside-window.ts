import { mayCallAt, type CallingWindow } from "../../accounts/accounts/calling-window.ts";
import { Refusal } from "../../lib/errors.ts";

/** Throws forbidden, with the window, if the account may not place calls at that time. */
export function refuseOutsideWindow(window: CallingWindow, at: Date): void {
  if (mayCallAt(window, at)) return;
  const [from, to] = [window.calling_from, window.calling_to].map((time) => time.slice(0, 5));
  throw new Refusal(
    "forbidden",
    "Night calling is disabled for this account, and the call would be placed outside " +
      `its calling window, ${from} to ${to} (${window.time_zone})`,
  );
}
