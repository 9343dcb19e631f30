import { Outlet, useMatches } from "@tanstack/react-router";
import type { Me } from "../api/me.ts";
import { Page } from "../ui/page.tsx";

/** The page of the address, or why the user may not see it. */
export function PermittedPage({ me }: { readonly me: Me }) {
  const needed = useMatches().findLast((match) => match.staticData.permission)?.staticData
    .permission;
  const anyOf = [needed ?? []].flat();
  if (anyOf.length === 0 || anyOf.some((one) => me.permissions.includes(one))) return <Outlet />;
  return (
    <Page
      title="You may not see this page"
      text={`It needs the permission ${anyOf.join(" or ")}, which your role does not have. Someone who manages users can change your role.`}
    >
      {null}
    </Page>
  );
}
