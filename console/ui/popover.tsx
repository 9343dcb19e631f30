import { useId, type ReactNode } from "react";

/**
 * A button and what it opens beside itself: the browser's own popover, which costs a page nothing. The focus moves to
 * its first control, and back when it closes.
 */
export function Popover({
  button,
  buttonClass,
  panelClass,
  children,
}: {
  /** The button's content. */
  readonly button: ReactNode;
  readonly buttonClass: string;
  /** Where the panel opens, as a position area. */
  readonly panelClass: string;
  readonly children: ReactNode;
}) {
  const id = useId();
  return (
    <>
      <button type="button" popoverTarget={id} className={buttonClass}>
        {button}
      </button>
      <div
        id={id}
        popover="auto"
        onToggle={({ newState, currentTarget }) =>
          newState === "open" &&
          currentTarget.querySelector<HTMLElement>("a, button, input")?.focus()
        }
        className={`border-line bg-panel text-ink m-0 my-1.5 flex-col rounded-xl border p-1 shadow-lg open:flex ${panelClass}`}
      >
        {children}
      </div>
    </>
  );
}
