import { useState } from "react";
import { useForm } from "react-hook-form";
import { suppress } from "../../api/people.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";

type Values = {
  readonly channel: "all" | "chat" | "voice";
  readonly scope: "all" | "marketing";
  readonly reason: string;
};

/** Suppresses a number; by default everything, because that is what an angry customer wants. */
export function SuppressDialog({ phone }: { readonly phone: string }) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title="Suppress this number"
      text="Campaigns and click-to-call leave it out from now on."
      trigger={<Button kind="danger">Suppress</Button>}
      open={open}
      onOpenChange={setOpen}
    >
      <SuppressForm phone={phone} onDone={() => setOpen(false)} />
    </Dialog>
  );
}

function SuppressForm({ phone, onDone }: { readonly phone: string; readonly onDone: () => void }) {
  const [error, setError] = useState<Error | null>(null);
  const {
    register,
    handleSubmit,
    formState,
    setError: setFieldError,
  } = useForm<Values>({
    defaultValues: { channel: "all", scope: "all", reason: "" },
  });
  const submit = handleSubmit(async ({ reason, ...rest }) => {
    try {
      await suppress({ phone_number: phone, ...rest, ...(reason === "" ? {} : { reason }) });
      onDone();
    } catch (caught) {
      setError(showFieldErrors(caught as Error, ["channel", "scope", "reason"], setFieldError));
    }
  });
  const { errors, isSubmitting } = formState;
  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      <SelectField
        {...register("channel")}
        label="Channel"
        error={errors.channel?.message}
        options={[
          { value: "all", label: "Messages and calls" },
          { value: "chat", label: "Messages" },
          { value: "voice", label: "Calls" },
        ]}
      />
      <SelectField
        {...register("scope")}
        label="Scope"
        error={errors.scope?.message}
        options={[
          { value: "all", label: "Everything" },
          { value: "marketing", label: "Marketing only" },
        ]}
      />
      <TextField
        {...register("reason")}
        label="Reason"
        placeholder="Asked by phone"
        error={errors.reason?.message}
      />
      <FormError error={error} />
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" kind="danger" busy={isSubmitting}>
          Suppress number
        </Button>
      </div>
    </form>
  );
}
