import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { createContext, useRef, type ReactElement, type ReactNode, type RefObject } from "react";

const first_field = "input:not([type=hidden]), select, textarea";

/** Asks what becomes of the changes in a dialog; `close` closes it. */
type AskBeforeClose = (close: () => void) => void;

/** Where UnsavedChanges in a dialog's form sets how to ask; null outside of dialogs. */
export const BeforeClose = createContext<RefObject<AskBeforeClose | null> | null>(null);

/**
 * A dialog with a title. `trigger` is the button that opens it and has the focus again afterwards; without one, `open`
 * and `onOpenChange` control it.
 */
export function Dialog({
  title,
  text,
  trigger,
  open,
  onOpenChange,
  children,
}: {
  readonly title: string;
  readonly text?: ReactNode;
  readonly trigger?: ReactElement;
  readonly open?: boolean;
  readonly onOpenChange?: (open: boolean) => void;
  readonly children: ReactNode;
}) {
  const popup = useRef<HTMLDivElement>(null);
  const ask = useRef<AskBeforeClose>(null);
  const change = (is_open: boolean, { cancel }: Base.Root.ChangeEventDetails) => {
    if (is_open || !ask.current) return onOpenChange?.(is_open);
    cancel();
    ask.current(() => onOpenChange?.(false));
  };
  return (
    <Base.Root open={open} onOpenChange={change}>
      {trigger && <Base.Trigger render={trigger} />}
      <Base.Portal>
        <Base.Backdrop
          forceRender
          className="fixed inset-0 bg-black/40 transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0"
        />
        <Base.Popup
          ref={popup}
          // Whoever opens a form begins to type. A finger would call up the keyboard over it.
          initialFocus={(how) =>
            how === "touch" || (popup.current?.querySelector<HTMLElement>(first_field) ?? true)
          }
          className="border-line bg-panel fixed top-1/2 left-1/2 flex max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] max-w-lg -translate-x-1/2 -translate-y-1/2 flex-col gap-4 overflow-y-auto rounded-2xl border p-6 shadow-xl"
        >
          <div className="flex items-start justify-between gap-4">
            <Base.Title className="text-base font-semibold">{title}</Base.Title>
            <Base.Close aria-label="Close" className="hover:bg-hover -m-1.5 rounded-lg p-1.5">
              <X aria-hidden className="size-4" />
            </Base.Close>
          </div>
          {text && <Base.Description className="text-muted">{text}</Base.Description>}
          <BeforeClose value={ask}>{children}</BeforeClose>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
