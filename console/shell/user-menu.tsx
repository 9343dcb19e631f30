import { Menu } from "@base-ui/react/menu";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { ChevronsUpDown } from "lucide-react";
import { api } from "../api/client.ts";
import type { Me } from "../api/me.ts";
import { queryClient } from "../api/query-client.ts";

const item = "data-highlighted:bg-hover rounded-md px-3 py-2 outline-none";

/** Who is signed in, in which account, and the ways out. */
export function UserMenu({ me }: { readonly me: Me }) {
  const navigate = useNavigate();
  const signOut = useMutation({
    mutationFn: (path: "/api/v1/session" | "/api/v1/sessions") => api.DELETE(path),
    // Also if it failed: the next page asks who is signed in.
    onSettled: async () => {
      queryClient.clear();
      await navigate({ to: "/sign-in" });
    },
  });
  return (
    <Menu.Root>
      <Menu.Trigger className="hover:bg-hover flex w-full min-w-0 items-center gap-2 rounded-lg px-3 py-2 text-left">
        <span className="min-w-0 flex-1">
          <span className="block truncate font-medium">{me.user.name}</span>
          <span className="text-muted block truncate text-xs">{me.account.name}</span>
        </span>
        <ChevronsUpDown aria-hidden className="text-muted size-4 shrink-0" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={6}>
          <Menu.Popup className="border-line bg-panel flex min-w-52 flex-col rounded-xl border p-1 shadow-lg">
            <Menu.Item className={item} render={<Link to="/settings/profile" />}>
              Your profile
            </Menu.Item>
            <Menu.Item className={item} onClick={() => signOut.mutate("/api/v1/session")}>
              Sign out
            </Menu.Item>
            <Menu.Item className={item} onClick={() => signOut.mutate("/api/v1/sessions")}>
              Sign out everywhere
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
