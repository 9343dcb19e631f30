// What a tab keeps for the signed-in user, such as drafts with their recipients. No other user may see it.
import type { Me } from "../api/me.ts";

const owner_key = "kept-for";

/** Names a user of an account. */
export const ownerOf = ({ account, user }: Me): string => `${account.id}/${user.id}`;

/** Whose pages the tab shows since a sign-in; null outside it. */
export type Shown = { readonly owner: string } | null;
let shown: Shown = null;

/** Returns whose pages the tab shows. */
export const shownNow = (): Shown => shown;

/** Reports whose pages the tab shows from now on. */
export function showOwner(owner: string | null): void {
  shown = owner === null ? null : { owner };
}

/** Removes what the tab has kept for another user. */
export function keepFor(me: Me): void {
  const owner = ownerOf(me);
  if (sessionStorage.getItem(owner_key) === owner) return;
  removeKept();
  sessionStorage.setItem(owner_key, owner);
}

/** Removes what the tab has kept, at the sign-out. */
export function removeKept(): void {
  sessionStorage.clear();
}
