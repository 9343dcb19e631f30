import { holdStream } from "../api/live.ts";
import { onSessionChange, refuseWrites } from "../api/session-changes.ts";
import { meQuery } from "../api/me.ts";
import { ApiProblem } from "../api/problem.ts";
import { queryClient } from "../api/query-client.ts";
import { router } from "../routes.ts";
import { ownerOf, shownNow, type Shown } from "./tab-storage.ts";

/** Whose session is being checked, or has ended, and the user was asked: another 401 says the same. */
let checked: Shown = null;

/** Leads to the sign-in when the session has ended, and loads the console again when another user has signed in. */
export function followSession(): void {
  onSessionChange((change) => {
    if (change === "signed in" || shownNow() !== checked) void checkSession();
  });
}

async function checkSession(): Promise<void> {
  const shown = shownNow();
  // The pages outside the sign-in belong to no user.
  if (!shown) return;
  checked = shown;
  queryClient.removeQueries(meQuery);
  try {
    const me = await queryClient.query({ ...meQuery, staleTime: "static" });
    checked = null;
    const isOther = ownerOf(me) !== shown.owner;
    // The browser asks about unsaved changes before it loads the page again, and the user may keep them.
    refuseWrites(isOther);
    if (isOther) location.reload();
    else holdStream();
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 401) {
      // Not by a redirect, before which a page could not ask about unsaved changes.
      await router.navigate({ to: "/sign-in", search: { to: router.state.location.href } });
    } else checked = null;
  }
}
