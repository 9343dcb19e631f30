// What a tab keeps for the signed-in user, such as drafts with their recipients. No other user may see it.
import { meQuery, type Me } from "../api/me.ts";
import { queryClient } from "../api/query-client.ts";
import { ownerOf } from "../api/shown-user.ts";

const owner_key = "kept-for";

/** Removes what the tab has kept for another user, and what it has read for them. */
export function keepFor(me: Me): void {
  const owner = ownerOf(me);
  if (sessionStorage.getItem(owner_key) === owner) return;
  removeKept();
  const [me_key] = meQuery.queryKey;
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== me_key });
  sessionStorage.setItem(owner_key, owner);
}

/** Removes what the tab has kept, at the sign-out. */
export function removeKept(): void {
  sessionStorage.clear();
}
