// Whose pages the tab shows, which may be another user than the one who is signed in by now.
import type { Me } from "./me.ts";

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
