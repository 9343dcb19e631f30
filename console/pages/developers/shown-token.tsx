import type { IssuedToken } from "../../api/tokens.ts";
import { Button } from "../../ui/button.tsx";
import { CopyField } from "../../ui/copy-field.tsx";

/** A token that was just created. Its text cannot be shown again. */
export function ShownToken({
  token: { token },
  onDone,
}: {
  readonly token: IssuedToken;
  readonly onDone: () => void;
}) {
  return (
    <div className="flex flex-col gap-4">
      <p role="status">
        Keep the token where the program finds it. It is shown only now; who has it can use it.
      </p>
      <CopyField label="Token" name="token" text={token ?? ""} />
      <pre
        // Focusable, because it may have to be scrolled.
        tabIndex={0}
        className="bg-page border-line overflow-x-auto rounded-lg border p-3 font-mono text-xs"
      >
        {`curl -H "authorization: Bearer $TRUNKLINE_TOKEN" ${location.origin}/api/v1/me`}
      </pre>
      <Button className="self-end" kind="primary" onClick={onDone}>
        Done
      </Button>
    </div>
  );
}
