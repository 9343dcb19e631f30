import { Outlet, useMatches } from "@tanstack/react-router";
import { hasFeatureFor, type Me } from "../api/me.ts";
import { featuresFor } from "../from-server.ts";
import { Page } from "../ui/page.tsx";
import { maySee } from "../ui/permission.ts";

/** The page of the address, or why the user may not see it. */
export function PermittedPage({ me }: { readonly me: Me }) {
  const needed = useMatches().findLast((match) => match.staticData.permission)?.staticData
    .permission;
  const anyOf = [needed ?? []].flat();
  if (maySee(me.permissions, anyOf)) return <Outlet />;
  const features = new Set(anyOf.flatMap(featuresFor));
  return (
    <Page
      title="You may not see this page"
      text={
        anyOf.some((one) => hasFeatureFor(me, one))
          ? `It needs the permission ${anyOf.join(" or ")}, which your role does not have. Someone who manages users can change your role.`
          : `It needs the feature ${[...features].join(" or ")}, which this account does not have. The operator of the installation can add it.`
      }
    >
      {null}
    </Page>
  );
}
