import { useBlocker } from "@tanstack/react-router";
import { useContext, useEffect, useState } from "react";
import { Button } from "./button.tsx";
import { BeforeClose, Dialog } from "./dialog.tsx";

/**
 * Asks before a page or dialog is closed in which something is not saved; so does the browser when its tab is closed.
 * The dialog's own buttons, such as Cancel, do not ask.
 */
export function UnsavedChanges({ isChanged }: { readonly isChanged: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => isChanged && current.pathname !== next.pathname,
    enableBeforeUnload: isChanged,
    withResolver: true,
  });
  const before_close = useContext(BeforeClose);
  const [close, setClose] = useState<(() => void) | null>(null);
  useEffect(() => {
    if (!before_close || !isChanged) return;
    before_close.current = (closeDialog) => setClose(() => closeDialog);
    return () => void (before_close.current = null);
  }, [before_close, isChanged]);
  const stay = () => {
    reset?.();
    setClose(null);
  };
  const discard = () => {
    proceed?.();
    close?.();
  };
  return (
    <Dialog
      title="Discard your changes?"
      text="What you changed is not saved."
      open={status === "blocked" || close !== null}
      onOpenChange={stay}
    >
      <div className="flex justify-end gap-2">
        <Button onClick={stay}>Stay</Button>
        <Button kind="danger" onClick={discard}>
          Discard changes
        </Button>
      </div>
    </Dialog>
  );
}
