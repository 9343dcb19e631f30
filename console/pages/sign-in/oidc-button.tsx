import { useMutation, useQuery } from "@tanstack/react-query";
import { api, body } from "../../api/client.ts";
import { signInOptionsQuery } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { keepTarget } from "./oidc-target.ts";

/** Leads to the identity provider, where the installation has one. */
export function OidcButton({ to }: { readonly to: string }) {
  const { data } = useQuery(signInOptionsQuery);
  const begin = useMutation({
    mutationFn: () => body(api.POST("/api/v1/session/oidc")),
    onSuccess: ({ url }) => {
      keepTarget(to);
      location.assign(url);
    },
  });
  if (!data?.oidc) return null;
  return (
    <>
      <Button busy={begin.isPending || begin.isSuccess} onClick={() => begin.mutate()}>
        Continue with {data.oidc.label}
      </Button>
      <FormError error={begin.error} />
    </>
  );
}
