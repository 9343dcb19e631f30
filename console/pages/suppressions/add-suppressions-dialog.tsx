import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { AddSuppressionsForm } from "./add-suppressions-form.tsx";

/** Suppresses one number, many, or those of a file. */
export function AddSuppressionsDialog() {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title="Suppress numbers"
      text="Campaigns and click-to-call leave them out from now on, however they are written."
      trigger={<Button kind="primary">Suppress numbers</Button>}
      open={open}
      onOpenChange={setOpen}
    >
      <AddSuppressionsForm onDone={() => setOpen(false)} />
    </Dialog>
  );
}
