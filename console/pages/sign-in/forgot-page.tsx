import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { api } from "../../api/client.ts";
import { signInOptionsQuery } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { account_rule, accountOf, OptionalAccountNumber } from "./account-number.tsx";
import { SignInFrame } from "./sign-in-frame.tsx";

/** Asks for a mail with a link for a new password. */
export function ForgotPage() {
  const options = useQuery(signInOptionsQuery);
  return (
    <SignInFrame title="Forgot your password?">
      {options.data?.password_reset_by_mail && <ForgotForm />}
      {options.data?.password_reset_by_mail === false && (
        <p className="text-muted">
          This installation sends no mail. Someone who manages users, or who operates the
          installation, can create a link that signs you in, with which you choose a new password.
        </p>
      )}
      <FormError error={options.error} />
      <Link to="/sign-in" className="text-accent underline">
        Back to sign in
      </Link>
    </SignInFrame>
  );
}

type Values = { email: string; account: string };

function ForgotForm() {
  const { register, handleSubmit, setError, formState } = useForm<Values>({
    defaultValues: { account: "" },
  });
  const [formError, setFormError] = useState<Error | null>(null);
  const request = useMutation({
    mutationFn: ({ email, account }: Values) =>
      api.POST("/api/v1/session/password-reset", { body: { email, ...accountOf(account) } }),
    onError: (error) => setFormError(showFieldErrors(error, ["email"], setError)),
  });
  if (request.isSuccess)
    return (
      <p role="status">
        If a user has the address {request.variables.email}, a mail with a link is on its way. The
        link works for an hour.
      </p>
    );
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) => void handleSubmit((values) => request.mutate(values))(event)}
    >
      <p className="text-muted">You get a mail with a link for a new password.</p>
      <TextField
        label="Email"
        type="email"
        autoComplete="username"
        error={formState.errors.email?.message}
        {...register("email", { required: "Enter your email address" })}
      />
      <OptionalAccountNumber
        error={formState.errors.account}
        {...register("account", account_rule)}
      />
      <FormError error={formError} />
      <Button kind="primary" type="submit" busy={request.isPending}>
        Send the mail
      </Button>
    </form>
  );
}
