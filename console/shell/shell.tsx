import { Menu } from "@base-ui/react/menu";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi, Link, Outlet, useNavigate } from "@tanstack/react-router";
import type { Me } from "../api/me.ts";
import { queryClient } from "../api/query-client.ts";
import { send } from "../api/send.ts";
import { Logo } from "../ui/logo.tsx";
import { navigation } from "./navigation.ts";

const route = getRouteApi("/shell");

/** The frame of every page behind the sign-in: navigation, account and user. */
export function Shell() {
  const { me } = route.useRouteContext();
  return (
    <div className="flex min-h-screen flex-col md:flex-row">
      <a
        href="#content"
        className="bg-panel sr-only focus:not-sr-only focus:absolute focus:m-2 focus:rounded-lg focus:p-2"
      >
        Skip to content
      </a>
      <header className="border-line bg-panel flex shrink-0 flex-row items-center gap-4 border-b p-3 md:w-56 md:flex-col md:items-stretch md:border-r md:border-b-0 md:p-4">
        <Link to="/" className="flex items-center gap-2 font-semibold">
          <Logo />
          <span className="max-md:sr-only">Trunkline</span>
        </Link>
        <nav aria-label="Main" className="flex flex-1 gap-1 md:flex-col">
          {navigation
            .filter(({ permission }) => me.permissions.includes(permission))
            .map(({ to, label }) => (
              <Link
                key={to}
                to={to}
                className="hover:bg-hover rounded-lg px-3 py-2"
                activeProps={{ className: "bg-hover font-medium text-accent" }}
              >
                {label}
              </Link>
            ))}
        </nav>
        <UserMenu me={me} />
      </header>
      <main id="content" className="min-w-0 flex-1 p-4 md:p-8">
        <Outlet />
      </main>
    </div>
  );
}

function UserMenu({ me }: { readonly me: Me }) {
  const navigate = useNavigate();
  const signOut = useMutation({
    mutationFn: (path: string) => send("DELETE", path),
    // Also if it failed: the next page asks who is signed in.
    onSettled: async () => {
      queryClient.clear();
      await navigate({ to: "/sign-in" });
    },
  });
  const item = "data-highlighted:bg-hover rounded-md px-3 py-2 outline-none";
  return (
    <Menu.Root>
      <Menu.Trigger className="hover:bg-hover flex min-w-0 flex-col rounded-lg px-3 py-2 text-left">
        <span className="truncate font-medium">{me.user.name}</span>
        <span className="text-muted truncate text-xs">{me.account.name}</span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={6}>
          <Menu.Popup className="border-line bg-panel flex min-w-52 flex-col rounded-xl border p-1 shadow-lg">
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
