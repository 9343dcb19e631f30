import { useState } from "react";
import { liftSuppression } from "../../api/people.ts";
import { refreshSuppressions, type Suppression } from "../../api/suppressions.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { TextField } from "../../ui/text-field.tsx";
import { describeSuppression } from "../../messages/person-history.ts";

/** Ends one suppression; the reason goes into the audit trail. */
export function LiftDialog({ suppression }: { readonly suppression: Suppression }) {
  const { id, phone_number, channel, scope } = suppression;
  const [reason, setReason] = useState("");
  const who = phone_number === null ? "this person" : `+${phone_number}`;
  return (
    <ConfirmDialog
      title="Lift this suppression?"
      text={`${describeSuppression(channel, scope)} for ${who} ends now. Other suppressions of the same person stay.`}
      action="Lift suppression"
      trigger={<Button aria-label={`Lift the suppression of ${who}`}>Lift</Button>}
      act={async () => {
        await liftSuppression(id, reason.trim());
        await refreshSuppressions();
      }}
    >
      <TextField
        label="Reason"
        name="reason"
        placeholder="Asked for messages again"
        hint="For the audit trail; do not name the person."
        maxLength={255}
        value={reason}
        onValueChange={setReason}
      />
    </ConfirmDialog>
  );
}
