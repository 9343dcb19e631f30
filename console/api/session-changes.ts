// Signs that the session has ended, or that another user is signed in than this tab shows: a 401, or a sign-in in another tab.
import { ApiProblem } from "./problem.ts";

type SessionChange = "unauthorized" | "signed in";

const channel = new BroadcastChannel("trunkline-session");
let check: (change: SessionChange) => void = () => {};
let isRefused = false;

/** Calls `listener` at each of these signs. */
export function onSessionChange(listener: typeof check): void {
  check = listener;
}

/** Reports that the API answered 401. */
export function reportUnauthorized(): void {
  check("unauthorized");
}

/** Reports to the other tabs that somebody has signed in. */
export function reportSignIn(): void {
  // oxlint-disable-next-line require-post-message-target-origin -- A channel is of one origin; windows have targets.
  channel.postMessage("signed in");
}

channel.addEventListener("message", () => check("signed in"));

/** Refuses what the tab writes, or no longer, because another user is signed in than it shows. */
export function refuseWrites(refused: boolean): void {
  isRefused = refused;
}

/** Returns whether the tab's writes are refused. */
export const areWritesRefused = (): boolean => isRefused;

/** Throws ApiProblem while the tab's writes are refused. */
export function checkWrite(): void {
  if (isRefused)
    throw new ApiProblem(
      0,
      "other-user",
      "Another user has signed in. Nothing was saved: load this page again.",
    );
}
