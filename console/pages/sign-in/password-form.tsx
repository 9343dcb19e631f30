import { Link } from "@tanstack/react-router";
import { useForm } from "react-hook-form";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { TextField } from "../../ui/text-field.tsx";
import { account_rule, accountOf, OptionalAccountNumber } from "./account-number.tsx";
import type { SignIn } from "./sign-in-body.ts";

type Values = { email: string; password: string; account: string };

export function PasswordForm({ signIn }: { readonly signIn: SignIn }) {
  const { register, handleSubmit, formState } = useForm<Values>({ defaultValues: { account: "" } });
  const { errors } = formState;
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
      <OptionalAccountNumber error={errors.account} {...register("account", account_rule)} />
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
