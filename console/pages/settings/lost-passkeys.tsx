import { useMutation } from "@tanstack/react-query";
import { removePasskeysOf } from "../../api/passkeys.ts";
import type { User } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { toasts } from "../../ui/toasts.tsx";

/** Removes the passkeys of someone who lost a device; goes away with them. */
export function LostPasskeys({ user: { id, name, passkeys } }: { readonly user: User }) {
  const removal = useMutation({
    mutationFn: () => removePasskeysOf(id),
    onSuccess: () =>
      toasts.add({ title: `${name} has no passkey now`, description: "The sessions have ended." }),
  });
  return (
    <div className="border-line flex flex-col gap-2 border-t pt-4">
      <p className="text-muted">
        A lost or stolen device: its passkey signs {name} in without a password. All sessions end
        with the removal.
      </p>
      <Button className="self-start" busy={removal.isPending} onClick={() => removal.mutate()}>
        {passkeys === 1 ? "Remove the passkey" : `Remove ${passkeys} passkeys`}
      </Button>
      <FormError error={removal.error} />
    </div>
  );
}
