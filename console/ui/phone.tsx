import type { ReactNode } from "react";

/** A phone that shows a chat. */
export function Phone({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}) {
  return (
    <div className="border-line bg-panel mx-auto flex h-120 w-full max-w-76 flex-col overflow-hidden rounded-[2rem] border-8 shadow-sm">
      <p className="bg-accent text-on-accent truncate px-4 py-3 font-medium">{title}</p>
      <div className="bg-accent-soft flex flex-1 flex-col gap-2 overflow-y-auto p-3">
        {children}
      </div>
    </div>
  );
}
