import type { ReactNode } from "react";

/** One number of a row of numbers; goes into a `<dl>`. */
export function Stat({
  label,
  children,
  hint,
}: {
  readonly label: string;
  readonly children: ReactNode;
  readonly hint?: ReactNode;
}) {
  return (
    <div className="border-line bg-panel flex flex-col gap-1 rounded-xl border p-4">
      <dt className="text-muted text-xs">{label}</dt>
      <dd className="text-2xl font-semibold tracking-tight tabular-nums">{children}</dd>
      {hint && <dd className="text-muted text-xs">{hint}</dd>}
    </div>
  );
}
