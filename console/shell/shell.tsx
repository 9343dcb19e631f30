import { Dialog } from "@base-ui/react/dialog";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Menu, X } from "lucide-react";
import { useEffect, useLayoutEffect, useState } from "react";
import { endStream, holdStream } from "../api/live.ts";
import type { Me } from "../api/me.ts";
import { refuseWrites } from "../api/session-changes.ts";
import { ownerOf, showOwner } from "../api/shown-user.ts";
import { Logo } from "../ui/logo.tsx";
import { maySee } from "../ui/permission.ts";
import { Toasts } from "../ui/toasts.tsx";
import { navigation } from "./navigation.ts";
import { PermittedPage } from "./permitted-page.tsx";
import { PersonSearch } from "./person-search.tsx";
import { UserMenu } from "./user-menu.tsx";

const route = getRouteApi("/shell");

/** The frame of every page behind the sign-in: a column at the side, or on a phone a bar with a menu. */
export function Shell() {
  const { me } = route.useRouteContext();
  // The pages outside have nobody to stream for.
  useEffect(() => endStream, []);
  const owner = ownerOf(me);
  // Before the effects of the pages, which stream for the owner.
  useLayoutEffect(() => {
    showOwner(owner);
    holdStream();
    return () => {
      showOwner(null);
      refuseWrites(false);
    };
  }, [owner]);
  return (
    <div className="flex min-h-screen flex-col md:flex-row">
      <a
        href="#content"
        className="bg-panel sr-only focus:not-sr-only focus:absolute focus:z-10 focus:m-2 focus:rounded-lg focus:p-2"
      >
        Skip to content
      </a>
      <header className="border-line bg-panel flex shrink-0 items-center gap-2 border-b p-2 md:sticky md:top-0 md:h-screen md:w-60 md:flex-col md:items-stretch md:gap-6 md:border-r md:border-b-0 md:p-4">
        <NavigationDrawer me={me} />
        <Home />
        <PersonSearch />
        {/* Scrolls alone, so that the user's menu stays in view; as wide as the outlines of its links. */}
        <div className="-m-1 min-h-0 flex-1 [scrollbar-width:thin] overflow-y-auto p-1 max-md:hidden">
          <Navigation me={me} />
        </div>
        <div className="min-w-0 max-md:ml-auto max-md:max-w-48">
          <UserMenu me={me} />
        </div>
      </header>
      <main id="content" className="min-w-0 flex-1 p-4 md:p-8">
        {me.account.frozen && <FrozenNote />}
        <PermittedPage me={me} />
      </main>
      <Toasts />
    </div>
  );
}

/** Why nothing is sent, and nothing can be changed. */
function FrozenNote() {
  return (
    <p role="status" className="bg-warning-soft mb-6 rounded-lg p-3">
      <strong className="text-warning font-medium">This account is frozen.</strong> It is moving to
      another installation: nothing is sent or called, and no change can be saved. Ask whoever
      operates the installation when it is done.
    </p>
  );
}

function Home() {
  return (
    <Link to="/" className="flex items-center gap-2.5 rounded-lg px-2 py-1 font-semibold">
      <Logo />
      Trunkline
    </Link>
  );
}

function Navigation({ me, onLeave }: { readonly me: Me; readonly onLeave?: () => void }) {
  return (
    <nav aria-label="Main" className="flex flex-col gap-5">
      {navigation.map(({ label, links }) => {
        const allowed = links.filter(({ permission }) => maySee(me.permissions, permission));
        if (allowed.length === 0) return null;
        return (
          <div key={label} className="flex flex-col gap-0.5">
            <p className="text-muted px-3 pb-1 text-xs">{label}</p>
            {allowed.map(({ to, label: name, icon: Icon }) => (
              <Link
                key={to}
                to={to}
                activeOptions={{ exact: to === "/" }}
                onClick={onLeave}
                className="hover:bg-hover flex items-center gap-2.5 rounded-lg px-3 py-1.5"
                activeProps={{ className: "bg-hover font-medium text-accent" }}
              >
                <Icon aria-hidden className="size-4" />
                {name}
              </Link>
            ))}
          </div>
        );
      })}
    </nav>
  );
}

/** The navigation on a phone. */
function NavigationDrawer({ me }: { readonly me: Me }) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog.Root open={open} onOpenChange={setOpen}>
      <Dialog.Trigger aria-label="Open menu" className="hover:bg-hover rounded-lg p-2 md:hidden">
        <Menu aria-hidden className="size-5" />
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 bg-black/40" />
        <Dialog.Popup className="border-line bg-panel fixed inset-y-0 left-0 flex w-64 flex-col gap-6 overflow-y-auto border-r p-4">
          <div className="flex items-center justify-between">
            <Dialog.Title className="px-3 font-semibold">Menu</Dialog.Title>
            <Dialog.Close aria-label="Close menu" className="hover:bg-hover rounded-lg p-2">
              <X aria-hidden className="size-5" />
            </Dialog.Close>
          </div>
          <Navigation me={me} onLeave={() => setOpen(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
