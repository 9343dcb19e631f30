import { Outlet, useMatches } from "@tanstack/react-router";
import { useEffect } from "react";

/** Keeps the browser's title and the focus with the page that is shown. */
export function Root() {
  const title = useMatches().findLast((match) => match.staticData.title)?.staticData.title;
  useEffect(() => {
    document.title = title ? `${title} · Trunkline` : "Trunkline";
    document.querySelector<HTMLElement>("h1")?.focus();
  }, [title]);
  return <Outlet />;
}
