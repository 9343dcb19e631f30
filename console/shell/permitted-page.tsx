import { Outlet, useMatches } from "@tanstack/react-router";
import type { Me } from "../api/me.ts";
import { Page } from "../ui/page.tsx";

/** The page of the address, or why the user may not see it. */
export function PermittedPage({ me }: { readonly me: Me }) {
  const needed = useMatches().findLast((match) => match.staticData.permission)?.staticData
    .permission;
  if (!needed || me.permissions.includes(needed)) return <Outlet />;
  return (
    <Page
      title="You may not see this page"
      text={`It needs the permission ${needed}, which your role does not have. Someone who manages users can change your role.`}
    >
      {null}
    </Page>
  );
}
