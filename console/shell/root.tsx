import { Outlet, useMatches } from "@tanstack/react-router";
import { useEffect } from "react";

/** Keeps the browser's title and the focus with the page that is shown. */
export function Root() {
  const shown = useMatches().findLast((match) => match.staticData.title);
  const title = shown?.staticData.title;
  useEffect(() => {
    document.title = title ? `${title} · Trunkline` : "Trunkline";
    document.querySelector<HTMLElement>("h1")?.focus();
    // From one call to another only the path changes.
  }, [title, shown?.pathname]);
  return <Outlet />;
}
