import { useState } from "react";
import { useForm } from "react-hook-form";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import type { SignIn } from "./sign-in-body.ts";

type Values = { password: string };

/** Uses a link up only when a button is pressed: programs that look at links in mails open pages, but press nothing. */
export function LinkForm({
  link,
  signIn,
  mustSet = false,
}: {
  readonly link: string;
  readonly signIn: SignIn;
  /** Whether a new password is required. */
  readonly mustSet?: boolean;
}) {
  const { register, handleSubmit, setError, formState } = useForm<Values>();
  const [formError, setFormError] = useState<Error | null>(null);
  const use = ({ password }: Values) =>
    signIn.mutate(password === "" ? { link } : { link, password }, {
      onError: (error) => setFormError(showFieldErrors(error, ["password"], setError)),
    });
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) => void handleSubmit(use)(event)}
    >
      <p className="text-muted">
        {mustSet ? "" : "This link signs you in once. "}
        With a new password, your other sessions end and your passkeys are removed.
      </p>
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        hint={
          mustSet
            ? "At least 10 characters"
            : "Optional. At least 10 characters. If you leave it empty, nothing changes."
        }
        error={formState.errors.password?.message}
        {...register("password", mustSet ? { required: "Choose a password" } : {})}
      />
      <FormError error={formError} />
      <Button kind="primary" type="submit" busy={signIn.isPending}>
        {mustSet ? "Save and sign in" : "Sign in"}
      </Button>
    </form>
  );
}
