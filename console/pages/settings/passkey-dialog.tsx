import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { addPasskey } from "../../api/passkeys.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { describeProgram } from "./describe-program.ts";

const shell = getRouteApi("/shell");

/** Adds this device. */
export function PasskeyDialog() {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title="Add a passkey"
      text="Your browser then asks you to unlock this device, or another one."
      trigger={
        <Button kind="primary" className="self-start">
          Add a passkey
        </Button>
      }
      open={open}
      onOpenChange={setOpen}
    >
      <PasskeyForm onDone={() => setOpen(false)} />
    </Dialog>
  );
}

function PasskeyForm({ onDone }: { readonly onDone: () => void }) {
  const { me } = shell.useRouteContext();
  const { register, handleSubmit, setError, formState } = useForm({
    defaultValues: { name: describeProgram(navigator.userAgent), current_password: "" },
  });
  const [failure, setFailure] = useState<Error | null>(null);
  const submit = handleSubmit(({ name, current_password }) =>
    addPasskey(name, current_password)
      .then(onDone)
      .catch((error: unknown) =>
        setFailure(showFieldErrors(error as Error, ["name", "current_password"], setError)),
      ),
  );
  const { errors, isSubmitting } = formState;
  return (
    <form className="flex flex-col gap-4" noValidate onSubmit={(event) => void submit(event)}>
      <TextField
        label="Name"
        hint="To recognize the device."
        error={errors.name?.message}
        {...register("name", { required: "Name the device" })}
      />
      {me.has_password && (
        <TextField
          label="Your password"
          type="password"
          autoComplete="current-password"
          error={errors.current_password?.message}
          {...register("current_password", { required: "Enter your password" })}
        />
      )}
      <FormError error={failure} />
      <Button type="submit" kind="primary" className="self-end" busy={isSubmitting}>
        Continue
      </Button>
    </form>
  );
}
