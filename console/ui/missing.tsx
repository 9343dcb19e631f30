import type { ReactNode } from "react";
import { ApiProblem } from "../api/problem.ts";
import { EmptyState } from "./empty-state.tsx";
import { FormError } from "./form-error.tsx";

/** In place of a thing that is still read, does not exist or cannot be read. */
export function Missing({
  error,
  what,
  children,
}: {
  readonly error: Error | null;
  /** The thing, such as "campaign". */
  readonly what: string;
  /** The way to the list. */
  readonly children: ReactNode;
}) {
  if (!error) return <p className="text-muted">Loading…</p>;
  if (!(error instanceof ApiProblem) || error.status !== 404) return <FormError error={error} />;
  return (
    <EmptyState title={`There is no such ${what}`} text="The address may be mistyped.">
      {children}
    </EmptyState>
  );
}
