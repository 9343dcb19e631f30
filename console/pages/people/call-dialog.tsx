import { useState } from "react";
import { useForm } from "react-hook-form";
import { placeCall } from "../../api/calls.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { ShowCurl } from "../../ui/show-curl.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { toasts } from "../../ui/toasts.tsx";

type Props = {
  /** Ten digits. */
  readonly number: string;
  /** The user's own extension or phone number. */
  readonly from: string;
};

/** Calls a person: first the agent's phone, then theirs. */
export function CallDialog(props: Props) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title="Call this number"
      text="Your phone rings first. The other one is called once you have answered."
      trigger={<Button>Call</Button>}
      open={open}
      onOpenChange={setOpen}
    >
      <CallForm {...props} onDone={() => setOpen(false)} />
    </Dialog>
  );
}

function CallForm({ number, from, onDone }: Props & { readonly onDone: () => void }) {
  const [error, setError] = useState<Error | null>(null);
  const form = useForm({ defaultValues: { from_number: from } });
  const submit = form.handleSubmit(async ({ from_number }) => {
    try {
      await placeCall({ from_number: from_number.trim(), to_number: number });
      toasts.add({ title: "Your phone rings", description: `Then ${number} is called.` });
      onDone();
    } catch (caught) {
      setError(showFieldErrors(caught as Error, ["from_number"], form.setError));
    }
  });
  const { errors, isSubmitting } = form.formState;
  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      <TextField
        {...form.register("from_number", {
          validate: (typed) => typed.trim() !== "" || "Say which phone is yours.",
        })}
        label="Your extension or phone number"
        autoComplete="off"
        error={errors.from_number?.message}
      />
      <FormError error={error} />
      <ShowCurl submit={submit} />
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" kind="primary" busy={isSubmitting}>
          Call
        </Button>
      </div>
    </form>
  );
}
