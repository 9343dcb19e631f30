import { useEffect, useState } from "react";
import { useForm } from "react-hook-form";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import type { SignIn } from "./sign-in-body.ts";

type Values = { password: string };

/** Uses a link up only when a button is pressed: programs that look at links in mails open pages, but press nothing. */
export function LinkForm({ link, signIn }: { readonly link: string; readonly signIn: SignIn }) {
  const { register, handleSubmit, setError, formState } = useForm<Values>();
  const [formError, setFormError] = useState<Error | null>(null);
  useEffect(() => {
    // Out of the address bar and the history.
    history.replaceState(history.state, "", "/sign-in");
  }, []);
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
      <p className="text-muted">This link signs you in once.</p>
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        hint="At least 10 characters. Leave it empty to keep the password you have."
        error={formState.errors.password?.message}
        {...register("password")}
      />
      <FormError error={formError} />
      <Button kind="primary" type="submit" busy={signIn.isPending}>
        Sign in
      </Button>
    </form>
  );
}
