import { useState, type ReactElement, type ReactNode } from "react";
import { Button, type ButtonKind } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { FormError } from "./form-error.tsx";

/** Asks before something that cannot be undone; stays open, with the reason, if it failed. */
export function ConfirmDialog({
  title,
  text,
  action,
  kind = "danger",
  trigger,
  act,
  children,
}: {
  readonly title: string;
  readonly text: ReactNode;
  /** The words of the button that does it. */
  readonly action: string;
  readonly kind?: ButtonKind;
  readonly trigger: ReactElement;
  readonly act: () => Promise<unknown>;
  /** What else it asks. */
  readonly children?: ReactNode;
}) {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await act();
      setOpen(false);
    } catch (caught) {
      setError(caught as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} text={text} trigger={trigger} open={open} onOpenChange={setOpen}>
      {children}
      <FormError error={error} />
      <div className="flex justify-end gap-2">
        <Button onClick={() => setOpen(false)}>Cancel</Button>
        <Button kind={kind} busy={busy} onClick={() => void confirm()}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
