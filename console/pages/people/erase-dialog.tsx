import { useState } from "react";
import { useForm } from "react-hook-form";
import { erasePerson } from "../../api/erasures.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { TextField } from "../../ui/text-field.tsx";

/** Erases a person. Their number must be typed: nothing brings the data back. */
export function EraseDialog({
  phone,
  onRequested,
}: {
  readonly phone: string;
  readonly onRequested: (erasureId: number) => void;
}) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title="Erase this person"
      text="Leads, messages, replies, calls and recordings under this number are erased for good. Opt-outs stay, so that nobody writes to or calls it again."
      trigger={<Button kind="danger">Erase</Button>}
      open={open}
      onOpenChange={setOpen}
    >
      <EraseForm
        phone={phone}
        onCancel={() => setOpen(false)}
        onRequested={(id) => {
          setOpen(false);
          onRequested(id);
        }}
      />
    </Dialog>
  );
}

const digits = (number: string) => number.replaceAll(/\D/g, "");

function EraseForm({
  phone,
  onCancel,
  onRequested,
}: {
  readonly phone: string;
  readonly onCancel: () => void;
  readonly onRequested: (erasureId: number) => void;
}) {
  const [error, setError] = useState<Error | null>(null);
  const { register, handleSubmit, formState } = useForm<{ typed: string }>();
  const submit = handleSubmit(async () => {
    try {
      onRequested(await erasePerson(phone));
    } catch (caught) {
      setError(caught as Error);
    }
  });
  const { errors, isSubmitting } = formState;
  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      <TextField
        {...register("typed", {
          validate: (typed = "") => digits(typed) === digits(phone) || `Type ${phone} to confirm.`,
        })}
        label="Type the number to confirm"
        placeholder={phone}
        autoComplete="off"
        error={errors.typed?.message}
      />
      <FormError error={error} />
      <FormActions submit={submit}>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" kind="danger" busy={isSubmitting}>
          Erase for good
        </Button>
      </FormActions>
    </form>
  );
}
