import { endStream, holdStream } from "../api/live.ts";
import { areWritesRefused, onSessionChange, refuseWrites } from "../api/session-changes.ts";
import { currentMe, meQuery, type Me } from "../api/me.ts";
import { ApiProblem } from "../api/problem.ts";
import { queryClient } from "../api/query-client.ts";
import { ownerOf, shownNow, type Shown } from "../api/shown-user.ts";
import { router } from "../routes.ts";

/** Whose session is being checked, or has ended, and the user was asked: another 401 says the same. */
let checked: Shown = null;
/** The last answer about who is signed in. */
let known: Me | undefined;

/**
 * Leads to the sign-in when the session has ended, loads the console again when another user has signed in, and shows
 * the pages what else has changed of the user and the account.
 */
export function followSession(): void {
  onSessionChange((change) => {
    if (change === "signed in" || shownNow() !== checked) void checkSession();
  });
  queryClient.getQueryCache().subscribe(() => {
    const me = queryClient.getQueryData(meQuery.queryKey);
    if (!me || me === known) return;
    known = me;
    show(me);
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && shownNow()) currentMe().catch(() => {});
  });
}

function show(me: Me): void {
  const shown = shownNow();
  if (!shown) return;
  const isOther = ownerOf(me) !== shown.owner;
  const wasAsked = areWritesRefused();
  // The browser asks about unsaved changes before it loads the page again, and the user may keep them.
  refuseWrites(isOther);
  if (!isOther) return void router.invalidate();
  endStream();
  if (!wasAsked) location.reload();
}

async function checkSession(): Promise<void> {
  const shown = shownNow();
  // The pages outside the sign-in belong to no user.
  if (!shown) return;
  checked = shown;
  queryClient.removeQueries(meQuery);
  try {
    await queryClient.query({ ...meQuery, staleTime: "static" });
    checked = null;
    holdStream();
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 401) {
      // Not by a redirect, before which a page could not ask about unsaved changes.
      await router.navigate({ to: "/sign-in", search: { to: router.state.location.href } });
    } else checked = null;
  }
}
