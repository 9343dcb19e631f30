import { onSessionChange } from "../api/session-changes.ts";
import { meQuery } from "../api/me.ts";
import { ApiProblem } from "../api/problem.ts";
import { queryClient } from "../api/query-client.ts";
import { router } from "../routes.ts";
import { ownerOf } from "./tab-storage.ts";

/** Leads to the sign-in when the session has ended, and loads the console again when another user has signed in. */
export function followSession(): void {
  onSessionChange(() => void checkSession());
}

async function checkSession(): Promise<void> {
  const shown = queryClient.getQueryData(meQuery.queryKey);
  // There was no session, or it is being checked already.
  if (!shown) return;
  queryClient.removeQueries(meQuery);
  try {
    const me = await queryClient.query({ ...meQuery, staleTime: "static" });
    if (ownerOf(me) !== ownerOf(shown)) location.reload();
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status !== 401) return;
    // Not by a redirect, before which a page could not ask about unsaved changes.
    await router.navigate({ to: "/sign-in", search: { to: router.state.location.href } });
  }
}
