import { useForm } from "react-hook-form";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { TextField } from "../../ui/text-field.tsx";
import type { SignIn } from "./sign-in-body.ts";

/** Reports whether the sign-in waits for a code, also after a wrong one. */
export const needsCode = ({ data, variables }: SignIn): boolean =>
  data?.code_required === true || (variables !== undefined && "code" in variables);

/** Repeats the sign-in with a code of the authenticator app. */
export function CodeForm({ signIn }: { readonly signIn: SignIn }) {
  const { register, handleSubmit, formState } = useForm<{ code: string }>();
  const { variables } = signIn;
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) =>
        void handleSubmit(({ code }) => variables && signIn.mutate({ ...variables, code }))(event)
      }
    >
      <TextField
        label="Code"
        autoFocus
        autoComplete="one-time-code"
        hint="Of your authenticator app, or a recovery code."
        error={formState.errors.code?.message}
        {...register("code", {
          validate: (code) => code.trim().length >= 6 || "Enter the six digits",
        })}
      />
      <FormError error={signIn.error} />
      <Button kind="primary" type="submit" busy={signIn.isPending}>
        Sign in
      </Button>
    </form>
  );
}
