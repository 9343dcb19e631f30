import { useMutation } from "@tanstack/react-query";
import { removeTotpOf } from "../../api/totp.ts";
import type { User } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { toasts } from "../../ui/toasts.tsx";

/** Removes the authenticator app of someone who lost it; goes away with the app. */
export function LostApp({ user: { id, name } }: { readonly user: User }) {
  const removal = useMutation({
    mutationFn: () => removeTotpOf(id),
    onSuccess: () => toasts.add({ title: `${name} signs in without a code now` }),
  });
  return (
    <div className="border-line flex flex-col gap-2 border-t pt-4">
      <p className="text-muted">
        A lost phone: without the authenticator app, signing in needs no code.
      </p>
      <Button className="self-start" busy={removal.isPending} onClick={() => removal.mutate()}>
        Remove the authenticator app
      </Button>
      <FormError error={removal.error} />
    </div>
  );
}
