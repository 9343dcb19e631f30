import type { ReactNode } from "react";

/** The heading of a page; it takes the focus after a navigation. */
export function Heading({ children }: { readonly children: ReactNode }) {
  return (
    <h1 tabIndex={-1} className="text-xl font-semibold tracking-tight wrap-anywhere">
      {children}
    </h1>
  );
}
