import { useQuery } from "@tanstack/react-query";
import { totpQuery } from "../../api/totp.ts";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { RemoveTotpDialog } from "./remove-totp-dialog.tsx";
import { TotpDialog } from "./totp-dialog.tsx";

/** The authenticator app of the signed-in user. */
export function OwnTotp() {
  const { data, error } = useQuery(totpQuery);
  return (
    <Panel title="Authenticator app">
      <FormError error={error} />
      <p className="text-muted">
        {data?.enabled
          ? `Signing in needs a code of your app. ${data.recovery_codes_left} recovery codes are left.`
          : "With an app on your phone, a stolen password or link alone opens nothing: signing in also needs a code of the app."}
      </p>
      {data && (data.enabled ? <RemoveTotpDialog /> : <TotpDialog />)}
    </Panel>
  );
}
