import { useQuery } from "@tanstack/react-query";
import { canUsePasskeys, passkeysQuery, removePasskey } from "../../api/passkeys.ts";
import { signInOptionsQuery } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { PasskeyDialog } from "./passkey-dialog.tsx";

/** The devices with which the signed-in user signs in without a password. */
export function OwnPasskeys() {
  const { data: options } = useQuery(signInOptionsQuery);
  const { data: passkeys = [], error } = useQuery(passkeysQuery);
  return (
    <Panel title="Passkeys">
      <FormError error={error} />
      <p className="text-muted">
        {options?.passkeys === false
          ? `Passkeys need an address with a name, such as ${location.protocol}//localhost:${location.port}, not an IP address.`
          : "A device signs you in with your fingerprint, face or PIN: no password, no code."}
      </p>
      {passkeys.length > 0 && (
        <ul aria-label="Passkeys" className="divide-line divide-y">
          {passkeys.map(({ id, name, created_at, last_used_at }) => (
            <li
              key={id}
              className="flex flex-wrap items-center justify-between gap-2 py-2 first:pt-0 last:pb-0"
            >
              <div className="min-w-0">
                <p className="font-medium wrap-anywhere">{name}</p>
                <p className="text-muted text-xs">
                  Added <Time at={created_at} />
                  {last_used_at && (
                    <>
                      {" · used "}
                      <Time at={last_used_at} />
                    </>
                  )}
                </p>
              </div>
              <ConfirmDialog
                title={`Remove ${name}?`}
                text="This device then signs you in no more. Delete the passkey in its own settings too."
                action="Remove the passkey"
                trigger={<Button aria-label={`Remove ${name}`}>Remove</Button>}
                act={() => removePasskey(id)}
              />
            </li>
          ))}
        </ul>
      )}
      {options?.passkeys && canUsePasskeys() && <PasskeyDialog />}
    </Panel>
  );
}
