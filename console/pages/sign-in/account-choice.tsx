import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
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
      <FormError error={signIn.error} />
    </div>
  );
}
