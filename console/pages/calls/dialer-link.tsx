import { getRouteApi, Link } from "@tanstack/react-router";
import { buttonClass, type ButtonKind } from "../../ui/button.tsx";

const shell = getRouteApi("/shell");

/** Leads to the dialer, unless the account places no calls by a click. */
export function DialerLink({ kind }: { readonly kind: ButtonKind }) {
  const { account } = shell.useRouteContext().me;
  if (!account.features.includes("calls")) return null;
  return (
    <Link to="/calls/new" className={buttonClass(kind)}>
      New call
    </Link>
  );
}
