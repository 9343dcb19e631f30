import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate, useRouter } from "@tanstack/react-router";
import { ChevronsUpDown } from "lucide-react";
import type { MouseEvent } from "react";
import { updateOwnAvailability } from "../api/agents.ts";
import { api } from "../api/client.ts";
import type { Me } from "../api/me.ts";
import { queryClient } from "../api/query-client.ts";
import { FormError } from "../ui/form-error.tsx";
import { Popover } from "../ui/popover.tsx";

const item = "hover:bg-hover rounded-md px-3 py-2 text-left";

/** Who is signed in, in which account, and the ways out. */
export function UserMenu({ me }: { readonly me: Me }) {
  const navigate = useNavigate();
  const router = useRouter();
  const signOut = useMutation({
    mutationFn: (everywhere: boolean) =>
      everywhere ? api.DELETE("/api/v1/sessions") : api.DELETE("/api/v1/session"),
    // Also if it failed: the next page asks who is signed in.
    onSettled: async () => {
      queryClient.clear();
      await navigate({ to: "/sign-in" });
    },
  });
  const isAgent = me.user.agent_numbers.length > 0;
  const change = useMutation({
    mutationFn: () => updateOwnAvailability(me.user.away_since === null),
    onSuccess: () => router.invalidate(),
  });
  return (
    <Popover
      button={
        <>
          <span className="min-w-0 flex-1">
            <span className="block truncate font-medium">{me.user.name}</span>
            <span className="text-muted block truncate text-xs">
              {me.account.name}
              {me.user.away_since !== null && " · away"}
            </span>
          </span>
          <ChevronsUpDown aria-hidden className="text-muted size-4 shrink-0" />
        </>
      }
      buttonClass="hover:bg-hover flex w-full min-w-0 items-center gap-2 rounded-lg px-3 py-2 text-left"
      panelClass="min-w-52 [position-area:bottom_span-left] md:[position-area:top_span-right]"
    >
      <p className="text-muted px-3 py-2 text-xs wrap-anywhere">Signed in as {me.user.email}</p>
      <Link to="/settings/profile" className={item} onClick={closePopover}>
        Your profile
      </Link>
      {isAgent && (
        <button type="button" className={item} onClick={() => change.mutate()}>
          {me.user.away_since === null ? "Take no calls of groups" : "Take calls of groups again"}
        </button>
      )}
      <FormError error={change.error} />
      <button type="button" className={item} onClick={() => signOut.mutate(false)}>
        Sign out
      </button>
      <button type="button" className={item} onClick={() => signOut.mutate(true)}>
        Sign out everywhere
      </button>
    </Popover>
  );
}

/** The page changes under it. */
function closePopover({ currentTarget }: MouseEvent<HTMLElement>): void {
  currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
}
