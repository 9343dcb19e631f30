import { useForm } from "react-hook-form";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { account_rule, AccountNumber } from "./account-number.tsx";
import type { Choice, SignIn } from "./sign-in-body.ts";

/** Repeats the sign-in with the account that is chosen. */
export function AccountChoice({
  choices,
  signIn,
}: {
  readonly choices: readonly Choice[];
  readonly signIn: SignIn;
}) {
  const { variables } = signIn;
  if (!variables || "link" in variables) return null;
  return (
    <div className="flex flex-col gap-2">
      {choices.map(({ account_id, name }) => (
        <Button
          key={account_id}
          busy={signIn.isPending}
          onClick={() => signIn.mutate({ ...variables, account_id })}
        >
          {name}
        </Button>
      ))}
      {signIn.data?.more_accounts && (
        <OtherAccount
          busy={signIn.isPending}
          onChoose={(account_id) => signIn.mutate({ ...variables, account_id })}
        />
      )}
      <FormError error={signIn.error} />
    </div>
  );
}

/** Names an account that is not among the choices. */
function OtherAccount({
  busy,
  onChoose,
}: {
  readonly busy: boolean;
  readonly onChoose: (account_id: number) => void;
}) {
  const { register, handleSubmit, formState } = useForm({ defaultValues: { account: "" } });
  return (
    <form
      className="border-line flex flex-col gap-4 border-t pt-4"
      noValidate
      onSubmit={(event) => void handleSubmit(({ account }) => onChoose(Number(account)))(event)}
    >
      <p className="text-muted">Not all of your accounts are listed.</p>
      <AccountNumber
        error={formState.errors.account}
        {...register("account", { ...account_rule, required: "Enter the account's number" })}
      />
      <Button type="submit" busy={busy}>
        Continue
      </Button>
    </form>
  );
}
