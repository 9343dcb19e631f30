import type { ReactNode } from "react";
import { ShowCurl } from "./show-curl.tsx";

/** The buttons of a form. Its request as a command is at their other end: within reach, and in nobody's way. */
export function FormActions({
  submit,
  align = "end",
  children,
}: {
  /** The form's own. */
  readonly submit: () => Promise<unknown>;
  /** Where the buttons are. */
  readonly align?: "start" | "end";
  readonly children: ReactNode;
}) {
  return align === "start" ? (
    <div className="flex flex-wrap items-center gap-2">
      {children}
      <ShowCurl submit={submit} className="ml-auto" />
    </div>
  ) : (
    <div className="flex flex-wrap items-center gap-2">
      <ShowCurl submit={submit} />
      {/* They stay together where the row is too narrow. */}
      <div className="ml-auto flex flex-wrap gap-2">{children}</div>
    </div>
  );
}
