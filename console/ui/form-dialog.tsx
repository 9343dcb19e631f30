import { useState, type ReactElement, type ReactNode } from "react";
import { ApiForm, type ApiFormProps } from "./api-form.tsx";
import { Dialog } from "./dialog.tsx";

type Props = ApiFormProps & {
  readonly title: string;
  readonly text?: ReactNode;
  readonly trigger: ReactElement;
  /** Runs once the form is saved and the dialog closes. */
  readonly onDone?: () => void;
};

/** A dialog with a form of the API. It closes unless the form fails. */
export function FormDialog({ title, text, trigger, onDone, ...form }: Props) {
  const [open, setOpen] = useState(false);
  const close = () => {
    setOpen(false);
    onDone?.();
  };
  return (
    <Dialog title={title} text={text} trigger={trigger} open={open} onOpenChange={setOpen}>
      <ApiForm {...form} onDone={close} />
    </Dialog>
  );
}
