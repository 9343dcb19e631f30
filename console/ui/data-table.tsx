import { useWindowVirtualizer } from "@tanstack/react-virtual";
import {
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type ReactNode,
  type RefObject,
} from "react";
import { Button } from "./button.tsx";

export type Column<Row> = {
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** Left out on a phone until all columns are asked for. */
  readonly wide?: boolean;
  /** Numbers, which line up at their end. */
  readonly numeric?: boolean;
};

/** The rows that are ticked, by key. */
export type Selection = {
  readonly selected: ReadonlySet<number>;
  readonly onChange: (selected: ReadonlySet<number>) => void;
};

type Props<Row> = {
  /** What the rows are, for a screen reader. */
  readonly label: string;
  /** The first column names the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => number;
  readonly loading: boolean;
  /** Loads the next page when the end comes near; absent when there is none. */
  readonly loadMore?: (() => void) | undefined;
  /** Loads the next page after it could not be loaded; absent otherwise. */
  readonly tryAgain?: (() => void) | undefined;
  readonly selection?: Selection | undefined;
};

const row_px = 49;

/** A table of any length, of which only the rows in view and some around them are in the page. */
export function DataTable<Row>(props: Props<Row>) {
  const { label, rows, keyOf, loading, loadMore, tryAgain, selection } = props;
  const [shows_all, setShowsAll] = useState(false);
  const has_wide = props.columns.some(({ wide }) => wide);
  const columns = shows_all ? props.columns.map(narrow) : props.columns;
  const body = useRef<HTMLTableSectionElement>(null);
  const scrollMargin = useTop(body, rows.length === 0);
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => row_px,
    getItemKey: (index) => keyOf(rows[index]!),
    overscan: 15,
    scrollMargin,
  });
  const shown = virtualizer.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (loadMore && rows.length > 0 && last >= rows.length - 20) loadMore();
  }, [last, rows.length, loadMore]);
  const above_px = (shown[0]?.start ?? scrollMargin) - scrollMargin;
  const below_px =
    virtualizer.getTotalSize() - ((shown.at(-1)?.end ?? scrollMargin) - scrollMargin);
  return (
    <div
      className={`border-line bg-panel rounded-xl border ${shows_all ? "overflow-x-auto" : "overflow-x-clip"}`}
    >
      {has_wide && <AllColumns on={shows_all} onChange={setShowsAll} />}
      <table
        className="w-full text-left"
        aria-label={label}
        aria-busy={loading}
        aria-rowcount={loadMore || tryAgain ? -1 : rows.length + 1}
      >
        <TableHead columns={columns} rows={rows} keyOf={keyOf} selection={selection} />
        <tbody ref={body}>
          <Space px={above_px} />
          {shown.map(({ index, key }) => (
            <tr
              key={key}
              data-index={index}
              aria-rowindex={index + 2}
              ref={virtualizer.measureElement}
              className="border-line hover:bg-hover relative border-b *:px-4 *:py-2.5 last:border-0 max-md:*:px-2"
            >
              {selection && (
                <SelectCell id={keyOf(rows[index]!)} row={index + 1} selection={selection} />
              )}
              {columns.map((column, at) => (
                <Cell key={column.header} column={column} row={rows[index]!} heads={at === 0} />
              ))}
            </tr>
          ))}
          <Space px={below_px} />
          {loading && rows.length === 0 && <LoadingRows columns={columns.length} />}
        </tbody>
      </table>
      {tryAgain && <NotLoaded onTryAgain={tryAgain} />}
    </div>
  );
}

/** Returns how many px from the top of the page the element begins, also after what stands above it has grown. */
function useTop(element: RefObject<HTMLElement | null>, is_empty: boolean): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = () => {
      const in_view = element.current?.getBoundingClientRect().top ?? 0;
      setTop(Math.round(in_view + window.scrollY));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [element, is_empty]);
  return top;
}

/** The end of the rows, after which there are more. The page has the reason. */
function NotLoaded({ onTryAgain }: { readonly onTryAgain: () => void }) {
  return (
    <div className="border-line sticky left-0 flex flex-wrap items-center gap-3 border-t px-4 py-2.5 max-md:px-2">
      <span className="text-muted">The rows that follow could not be loaded.</span>
      <Button onClick={onTryAgain}>Try again</Button>
    </div>
  );
}

/** On a phone, shows the columns that it leaves out. */
function AllColumns({
  on,
  onChange,
}: {
  readonly on: boolean;
  readonly onChange: (on: boolean) => void;
}) {
  return (
    <div className="border-line sticky left-0 flex justify-end border-b px-2 py-1 md:hidden">
      <button
        type="button"
        className="text-accent cursor-pointer rounded px-2 py-1 text-xs"
        onClick={() => onChange(!on)}
      >
        {on ? "Fewer columns" : "All columns"}
      </button>
    </div>
  );
}

/** A column that is shown on a phone, too. */
const narrow = <Row,>({ wide: _wide, ...column }: Column<Row>): Column<Row> => column;

function classOf({ wide, numeric }: Pick<Column<never>, "wide" | "numeric">): string {
  return `${wide ? "max-md:hidden" : ""} ${numeric ? "text-right tabular-nums" : ""}`;
}

function TableHead<Row>({
  columns,
  rows,
  keyOf,
  selection,
}: Pick<Props<Row>, "columns" | "rows" | "keyOf"> & { selection: Selection | undefined }) {
  const all = rows.length > 0 && rows.every((row) => selection?.selected.has(keyOf(row)));
  return (
    <thead className="text-muted border-line border-b text-xs">
      <tr className="*:px-4 *:py-2.5 max-md:*:px-2 *:font-medium *:whitespace-nowrap">
        {selection && (
          <th scope="col" className="w-0">
            <input
              type="checkbox"
              aria-label="Select all rows that are loaded"
              className="block size-4"
              checked={all}
              onChange={() => selection.onChange(new Set(all ? [] : rows.map(keyOf)))}
            />
          </th>
        )}
        {columns.map((column) => (
          <th key={column.header} scope="col" className={classOf(column)}>
            {column.header}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function SelectCell({
  id,
  row,
  selection,
}: {
  readonly id: number;
  readonly row: number;
  readonly selection: Selection;
}) {
  const { selected, onChange } = selection;
  return (
    <td className="w-0">
      <input
        type="checkbox"
        aria-label={`Select row ${row}`}
        className="relative z-1 block size-4"
        checked={selected.has(id)}
        onChange={() => {
          const changed = new Set(selected);
          if (!changed.delete(id)) changed.add(id);
          onChange(changed);
        }}
      />
    </td>
  );
}

function Cell<Row>({
  column,
  row,
  heads,
}: {
  readonly column: Column<Row>;
  readonly row: Row;
  readonly heads: boolean;
}) {
  const content = column.cell(row);
  if (heads)
    return (
      <th scope="row" className={`font-medium wrap-anywhere ${classOf(column)}`}>
        {content}
      </th>
    );
  return <td className={classOf(column)}>{content}</td>;
}

/** Stands for the rows that are not in the page. */
function Space({ px }: { readonly px: number }) {
  if (px <= 0) return null;
  return (
    <tr aria-hidden>
      <td style={{ height: px }} />
    </tr>
  );
}

function LoadingRows({ columns }: { readonly columns: number }) {
  return Array.from({ length: 8 }, (_, index) => (
    <tr key={index} aria-hidden className="border-line border-b last:border-0">
      <td colSpan={columns + 1} className="px-4 py-2.5">
        <span className="bg-hover my-1 block h-4 animate-pulse rounded" />
      </td>
    </tr>
  ));
}
