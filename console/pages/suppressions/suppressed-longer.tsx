import type { Suppression } from "../../api/suppressions.ts";
import { describeSuppression } from "../../messages/person-history.ts";
import { Button } from "../../ui/button.tsx";
import { Time } from "../../ui/time.tsx";

/** Reports that a number has a manual suppression that lasts as long or longer, so that nothing was changed. */
export function SuppressedLonger({
  suppression: { channel, scope, reason, expires_at },
  onDone,
}: {
  readonly suppression: Pick<Suppression, "channel" | "scope" | "reason" | "expires_at">;
  readonly onDone: () => void;
}) {
  return (
    <>
      <div role="status" className="flex flex-col gap-3">
        <p className="font-medium">Nothing was changed: this number is suppressed already.</p>
        <p className="wrap-anywhere">
          {describeSuppression(channel, scope)}
          {reason && reason !== "manual" && ` · ${reason}`}
          {expires_at ? (
            <>
              {" · until "}
              <Time at={expires_at} />
            </>
          ) : (
            " · until someone lifts it"
          )}
        </p>
        <p className="text-muted">
          This suppression lasts as long or longer, so it stays. To give it another reason or an
          earlier end, choose Lift beside it, then suppress the number again.
        </p>
      </div>
      <Button kind="primary" className="self-end" onClick={onDone}>
        Done
      </Button>
    </>
  );
}
