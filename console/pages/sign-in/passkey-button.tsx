import { useQuery } from "@tanstack/react-query";
import { canUsePasskeys } from "../../api/passkeys.ts";
import { signInOptionsQuery } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import type { SignIn } from "./sign-in-body.ts";

/** Signs in with a device, where the browser and the service's address allow it. */
export function PasskeyButton({ signIn }: { readonly signIn: SignIn }) {
  const { data } = useQuery(signInOptionsQuery);
  if (!data?.passkeys || !canUsePasskeys()) return null;
  return (
    <Button busy={signIn.isPending} onClick={() => signIn.mutate({ passkey: true })}>
      Use a passkey
    </Button>
  );
}
