import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useRouter } from "@tanstack/react-router";
import { ChevronsUpDown } from "lucide-react";
import type { MouseEvent } from "react";
import { updateOwnAvailability } from "../api/agents.ts";
import { api } from "../api/client.ts";
import type { Me } from "../api/me.ts";
import { passkeysQuery } from "../api/passkeys.ts";
import { ApiProblem } from "../api/problem.ts";
import { queryClient } from "../api/query-client.ts";
import { signInOptionsQuery } from "../api/users.ts";
import { ConfirmDialog } from "../ui/confirm-dialog.tsx";
import { FormError } from "../ui/form-error.tsx";
import { Popover } from "../ui/popover.tsx";
import { removeKept } from "./tab-storage.ts";

const item = "hover:bg-hover rounded-md px-3 py-2 text-left";

/** Who is signed in, in which account, and the ways out. */
export function UserMenu({ me }: { readonly me: Me }) {
  const router = useRouter();
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
      <SignOut me={me} />
      <SignOut me={me} everywhere />
    </Popover>
  );
}

/** Asks first whoever could not sign in again: no password, no passkey, and no identity provider to go to. */
function SignOut({ me, everywhere = false }: { readonly me: Me; readonly everywhere?: boolean }) {
  const label = everywhere ? "Sign out everywhere" : "Sign out";
  const navigate = useNavigate();
  const signOut = useMutation({
    mutationFn: () => endSession(everywhere),
    onSuccess: async () => {
      queryClient.clear();
      removeKept();
      await navigate({ to: "/sign-in" });
    },
  });
  const enabled = !me.has_password;
  const { data: options } = useQuery({ ...signInOptionsQuery, enabled });
  const { data: passkeys = [] } = useQuery({ ...passkeysQuery, enabled });
  if (me.has_password || passkeys.length > 0 || options?.oidc)
    return (
      <>
        <button type="button" className={item} onClick={() => signOut.mutate()}>
          {label}
        </button>
        {signOut.error && (
          <div className="max-w-60 px-3 py-2">
            <p className="font-medium">You may still be signed in.</p>
            <FormError error={signOut.error} />
          </div>
        )}
      </>
    );
  return (
    <ConfirmDialog
      title="Sign out without a password?"
      text={`You have no password and no passkey. To sign in again you need a new link: ${
        options?.password_reset_by_mail
          ? "choose “Forgot your password?” on the sign-in page, and you get one by mail."
          : "ask someone who manages users, or who operates the installation."
      }`}
      action={label}
      trigger={
        <button type="button" className={item} onClick={closePopover}>
          {label}
        </button>
      }
      act={() => signOut.mutateAsync()}
    >
      <p>You can set a password in Your profile first.</p>
    </ConfirmDialog>
  );
}

/** Ends this session or all of the user's; a 401 says that it has ended already. */
async function endSession(everywhere: boolean): Promise<void> {
  try {
    await (everywhere ? api.DELETE("/api/v1/sessions") : api.DELETE("/api/v1/session"));
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status !== 401) throw error;
  }
}

/** The page changes under it. */
function closePopover({ currentTarget }: MouseEvent<HTMLElement>): void {
  currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
}
