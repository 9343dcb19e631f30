import { useBlocker } from "@tanstack/react-router";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

/** Asks before a page is closed on which something is not saved; so does the browser when its tab is closed. */
export function UnsavedChanges({ isChanged }: { readonly isChanged: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => isChanged && current.pathname !== next.pathname,
    enableBeforeUnload: isChanged,
    withResolver: true,
  });
  return (
    <Dialog
      title="Discard your changes?"
      text="What you changed on this page is not saved."
      open={status === "blocked"}
      onOpenChange={() => reset?.()}
    >
      <div className="flex justify-end gap-2">
        <Button onClick={() => reset?.()}>Stay</Button>
        <Button kind="danger" onClick={() => proceed?.()}>
          Discard changes
        </Button>
      </div>
    </Dialog>
  );
}
