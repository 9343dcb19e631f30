import { ChevronDown, ChevronUp, GripVertical } from "lucide-react";
import { useState, type ReactNode } from "react";

/** A list whose order a person chooses: by dragging an item, or by its two buttons. */
export function SortableList<Item>({
  label,
  items,
  keyOf,
  nameOf,
  busy,
  onOrder,
  children,
}: {
  readonly label: string;
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => number;
  readonly nameOf: (item: Item) => string;
  /** Whether the new order is being stored. */
  readonly busy: boolean;
  readonly onOrder: (ordered: readonly Item[]) => void;
  /** What is shown of an item. */
  readonly children: (item: Item) => ReactNode;
}) {
  const [dragged, setDragged] = useState<number | null>(null);
  const [over, setOver] = useState<number | null>(null);
  const move = (from: number, to: number) => {
    if (from === to || to < 0 || to >= items.length) return;
    const ordered = items.toSpliced(from, 1).toSpliced(to, 0, items[from]!);
    onOrder(ordered);
  };
  return (
    <ul aria-label={label} aria-busy={busy} className="divide-line divide-y">
      {items.map((item, index) => (
        <li
          key={keyOf(item)}
          draggable
          onDragStart={() => setDragged(index)}
          onDragEnd={() => {
            setDragged(null);
            setOver(null);
          }}
          onDragOver={(event) => {
            if (dragged === null) return;
            event.preventDefault();
            setOver(index);
          }}
          onDrop={() => dragged !== null && move(dragged, index)}
          className={`flex items-center gap-2 py-2 ${over === index && dragged !== index ? "bg-hover" : ""} ${
            dragged === index ? "opacity-50" : ""
          }`}
        >
          <GripVertical aria-hidden className="text-muted size-4 shrink-0 cursor-grab" />
          <div className="min-w-0 flex-1">{children(item)}</div>
          <MoveButton
            label={`Move ${nameOf(item)} up`}
            disabled={index === 0}
            onClick={() => move(index, index - 1)}
          >
            <ChevronUp aria-hidden className="size-4" />
          </MoveButton>
          <MoveButton
            label={`Move ${nameOf(item)} down`}
            disabled={index === items.length - 1}
            onClick={() => move(index, index + 1)}
          >
            <ChevronDown aria-hidden className="size-4" />
          </MoveButton>
        </li>
      ))}
    </ul>
  );
}

function MoveButton({
  label,
  disabled,
  onClick,
  children,
}: {
  readonly label: string;
  readonly disabled: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}) {
  return (
    <button
      type="button"
      aria-label={label}
      disabled={disabled}
      onClick={onClick}
      className="hover:bg-hover rounded-lg p-1.5 disabled:opacity-30"
    >
      {children}
    </button>
  );
}
