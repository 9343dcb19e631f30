import { useState } from "react";
import { useForm } from "react-hook-form";
import { removeTotp } from "../../api/totp.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";

/** Removes the own authenticator app. */
export function RemoveTotpDialog() {
  return (
    <Dialog
      title="Remove the authenticator app"
      text="From then on signing in needs no code."
      trigger={<Button className="self-start">Remove</Button>}
    >
      <RemoveForm />
    </Dialog>
  );
}

function RemoveForm() {
  const { register, handleSubmit, setError, formState } = useForm<{ code: string }>();
  const [failure, setFailure] = useState<Error | null>(null);
  const submit = handleSubmit(({ code }) =>
    removeTotp(code).catch((error: unknown) =>
      setFailure(showFieldErrors(error as Error, ["code"], setError)),
    ),
  );
  return (
    <form className="flex flex-col gap-4" noValidate onSubmit={(event) => void submit(event)}>
      <TextField
        label="Code"
        autoComplete="one-time-code"
        hint="Of the app, or a recovery code."
        error={formState.errors.code?.message}
        {...register("code", {
          validate: (code) => code.trim().length >= 6 || "Enter the six digits",
        })}
      />
      <FormError error={failure} />
      <Button type="submit" kind="danger" className="self-end" busy={formState.isSubmitting}>
        Remove the app
      </Button>
    </form>
  );
}
