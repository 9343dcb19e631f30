import type { ReactNode } from "react";
import { Heading } from "./heading.tsx";

/** A page in the frame: its heading, what it is about, what can be done on it, and its content. */
export function Page({
  title,
  text,
  actions,
  children,
}: {
  readonly title: ReactNode;
  readonly text?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <div className="mx-auto flex max-w-7xl flex-col gap-6">
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="flex min-w-0 flex-col gap-1">
          <Heading>{title}</Heading>
          {text && <p className="text-muted">{text}</p>}
        </div>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  );
}
