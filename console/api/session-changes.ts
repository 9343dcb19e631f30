// Signs that the session has ended, or that another user is signed in than this tab shows: a 401, or a sign-in in another tab.
const channel = new BroadcastChannel("trunkline-session");
let check = () => {};

/** Calls `listener` at each of these signs. */
export function onSessionChange(listener: () => void): void {
  check = listener;
}

/** Reports that the API answered 401. */
export function reportUnauthorized(): void {
  check();
}

/** Reports to the other tabs that somebody has signed in. */
export function reportSignIn(): void {
  // oxlint-disable-next-line require-post-message-target-origin -- A channel is of one origin; windows have targets.
  channel.postMessage("signed in");
}

channel.addEventListener("message", () => check());
