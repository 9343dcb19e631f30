import { useMutation } from "@tanstack/react-query";
import { getRouteApi, Link, useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { api } from "../../api/client.ts";
import { meQuery } from "../../api/me.ts";
import { queryClient } from "../../api/query-client.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { toasts } from "../../ui/toasts.tsx";

const shell = getRouteApi("/shell");

type Values = { current_password: string; password: string };

/** Sets the own password: the first one, or another one with the current one. */
export function OwnPassword() {
  const { me } = shell.useRouteContext();
  const router = useRouter();
  const { register, handleSubmit, setError, formState, reset } = useForm<Values>();
  const [formError, setFormError] = useState<Error | null>(null);
  const save = useMutation({
    mutationFn: ({ current_password, password }: Values) =>
      api.PUT("/api/v1/me/password", {
        body: { password, ...(me.has_password ? { current_password } : {}) },
      }),
    onSuccess: async () => {
      setFormError(null);
      reset();
      toasts.add({ title: "Your password is set", description: "Other sessions have ended." });
      queryClient.setQueryData(meQuery.queryKey, { ...me, has_password: true });
      await queryClient.invalidateQueries({ queryKey: ["sessions"] });
      await router.invalidate();
    },
    onError: (error) =>
      setFormError(showFieldErrors(error, ["current_password", "password"], setError)),
  });
  const { errors } = formState;
  return (
    <Panel title="Password">
      <form
        className="flex flex-col gap-4"
        noValidate
        onSubmit={(event) => void handleSubmit((values) => save.mutate(values))(event)}
      >
        {me.has_password ? (
          <>
            <TextField
              label="Current password"
              type="password"
              autoComplete="current-password"
              error={errors.current_password?.message}
              {...register("current_password", { required: "Enter your current password" })}
            />
            <Link to="/sign-in/forgot" className="text-accent self-start underline">
              You do not know it?
            </Link>
          </>
        ) : (
          <p>You have no password yet. With one you can sign in again after you sign out.</p>
        )}
        <TextField
          label="New password"
          type="password"
          autoComplete="new-password"
          hint="At least 10 characters. Your other sessions end."
          error={errors.password?.message}
          {...register("password", { required: "Choose a password" })}
        />
        <FormError error={formError} />
        <Button kind="primary" type="submit" className="self-start" busy={save.isPending}>
          {me.has_password ? "Change password" : "Set password"}
        </Button>
      </form>
    </Panel>
  );
}
