import type { ReactNode } from "react";
import { fieldError } from "../messages/field-error.ts";

/** Many boxes to tick, in a frame of their own that scrolls. */
export function CheckList({
  legend,
  count,
  error,
  children,
}: {
  readonly legend: string;
  readonly count: number;
  readonly error: string | undefined;
  readonly children: ReactNode;
}) {
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="mb-2 flex w-full justify-between font-medium">
        {legend}
        <span className="text-muted font-normal">{count} to choose from</span>
      </legend>
      <div
        tabIndex={0}
        className="border-line flex max-h-64 flex-col gap-2 overflow-y-scroll rounded-lg border p-3"
      >
        {children}
      </div>
      {error !== undefined && (
        <p role="alert" className="text-danger text-xs">
          {fieldError("The choice", error)}
        </p>
      )}
    </fieldset>
  );
}
