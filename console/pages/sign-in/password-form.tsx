import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { TextField } from "../../ui/text-field.tsx";
import { account_rule, AccountNumber, accountOf } from "./account-number.tsx";
import type { SignIn } from "./sign-in-body.ts";

type Values = { email: string; password: string; account: string };

export function PasswordForm({ signIn }: { readonly signIn: SignIn }) {
  const { register, handleSubmit, formState } = useForm<Values>({ defaultValues: { account: "" } });
  const { errors } = formState;
  // It stays while the sign-in is repeated.
  const [has_failed, setHasFailed] = useState(signIn.isError);
  if (signIn.isError && !has_failed) setHasFailed(true);
  const submit = handleSubmit(({ account, ...values }) =>
    signIn.mutate({ ...values, ...accountOf(account) }),
  );
  return (
    <form className="flex flex-col gap-4" noValidate onSubmit={(event) => void submit(event)}>
      <TextField
        label="Email"
        type="email"
        autoComplete="username"
        error={errors.email?.message}
        {...register("email", { required: "Enter your email address" })}
      />
      <TextField
        label="Password"
        type="password"
        autoComplete="current-password"
        error={errors.password?.message}
        {...register("password", { required: "Enter your password" })}
      />
      {has_failed && (
        <AccountNumber error={errors.account} {...register("account", account_rule)} />
      )}
      <FormError error={signIn.error} />
      <Button kind="primary" type="submit" busy={signIn.isPending}>
        Sign in
      </Button>
      <Link to="/sign-in/forgot" className="text-accent text-xs underline">
        Forgot your password?
      </Link>
    </form>
  );
}
