import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { api, body } from "../../api/client.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { SignInFrame } from "./sign-in-frame.tsx";
import { useLinkSecret, useSignIn } from "./use-sign-in.ts";

/** Accepts an invitation: the invited person chooses a name and a password. */
export function InvitationPage() {
  const link = useLinkSecret();
  const invitation = useQuery({
    queryKey: ["invitation", link],
    queryFn: () => body(api.POST("/api/v1/session/invitation/preview", { body: { link } })),
    staleTime: "static",
  });
  const { data } = invitation;
  return (
    <SignInFrame title={data ? `Join ${data.account}` : "Invitation"}>
      <FormError error={invitation.error} />
      {invitation.isPending && <p className="text-muted">Opening the invitation…</p>}
      {data && <AcceptForm link={link} email={data.email} />}
    </SignInFrame>
  );
}

type Values = { name: string; password: string };

function AcceptForm({ link, email }: { readonly link: string; readonly email: string }) {
  const { register, handleSubmit, setError, formState } = useForm<Values>();
  const [formError, setFormError] = useState<Error | null>(null);
  const signIn = useSignIn("/");
  const { errors } = formState;
  const accept = (values: Values) =>
    signIn.mutate(
      { link, ...values },
      { onError: (error) => setFormError(showFieldErrors(error, ["name", "password"], setError)) },
    );
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) => void handleSubmit(accept)(event)}
    >
      <TextField
        label="Email"
        type="email"
        name="email"
        autoComplete="username"
        readOnly
        value={email}
        hint="You will sign in with this address."
      />
      <TextField
        label="Your name"
        autoComplete="name"
        error={errors.name?.message}
        {...register("name", { required: "Enter your name" })}
      />
      <TextField
        label="Password"
        type="password"
        autoComplete="new-password"
        hint="At least 10 characters"
        error={errors.password?.message}
        {...register("password", { required: "Choose a password" })}
      />
      <FormError error={formError} />
      <Button kind="primary" type="submit" busy={signIn.isPending}>
        Join
      </Button>
    </form>
  );
}
