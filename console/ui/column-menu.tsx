import { Columns3 } from "lucide-react";
import { buttonClass } from "./button.tsx";
import { Popover } from "./popover.tsx";

/** Chooses the columns of a list. */
export function ColumnMenu({
  columns,
  hidden,
  onChange,
}: {
  readonly columns: readonly string[];
  readonly hidden: ReadonlySet<string>;
  readonly onChange: (hidden: ReadonlySet<string>) => void;
}) {
  const show = (column: string, shown: boolean) => {
    const changed = new Set(hidden);
    if (shown) changed.delete(column);
    else changed.add(column);
    onChange(changed);
  };
  return (
    <Popover
      button={
        <>
          <Columns3 aria-hidden className="size-4" />
          Columns
        </>
      }
      buttonClass={buttonClass("plain")}
      panelClass="min-w-48 [position-area:bottom_span-left]"
    >
      {columns.map((column) => (
        <label
          key={column}
          className="hover:bg-hover flex cursor-pointer items-center gap-2.5 rounded-md px-3 py-2"
        >
          <input
            type="checkbox"
            checked={!hidden.has(column)}
            onChange={({ target }) => show(column, target.checked)}
            className="size-4"
          />
          {column}
        </label>
      ))}
    </Popover>
  );
}
