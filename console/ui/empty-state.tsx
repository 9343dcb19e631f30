import type { ReactNode } from "react";

/** Says why there is nothing, and offers what to do about it. */
export function EmptyState({
  title,
  text,
  children,
}: {
  readonly title: string;
  readonly text: ReactNode;
  readonly children?: ReactNode;
}) {
  return (
    <div className="border-line flex flex-col items-center gap-2 rounded-xl border border-dashed px-6 py-14 text-center">
      <p className="font-medium">{title}</p>
      <p className="text-muted max-w-md">{text}</p>
      {children && <div className="mt-3 flex flex-wrap justify-center gap-2">{children}</div>}
    </div>
  );
}
