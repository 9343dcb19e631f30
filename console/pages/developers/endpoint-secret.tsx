import { useMutation } from "@tanstack/react-query";
import { api, body } from "../../api/client.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { CopyField } from "../../ui/copy-field.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";

/** The secret by which a program checks that an event is from here. */
export function EndpointSecret({ id }: { readonly id: number }) {
  const params = { path: { id } };
  const show = useMutation({
    mutationFn: () => body(api.GET("/api/v1/callbacks/endpoints/{id}/secret", { params })),
  });
  const old_until = show.data?.old_secret_until ?? null;
  return (
    <Panel title="Secret">
      {show.data ? (
        <CopyField label="Secret" name="secret" text={show.data.secret} />
      ) : (
        <p className="text-muted">Callbacks are signed with it (Standard Webhooks).</p>
      )}
      {old_until !== null && (
        <p className="text-muted">
          The secret before it also signs until <Time at={old_until} />.
        </p>
      )}
      <FormError error={show.error} />
      <div className="flex flex-wrap gap-2">
        {!show.data && (
          <Button busy={show.isPending} onClick={() => show.mutate()}>
            Show
          </Button>
        )}
        <ConfirmDialog
          title="Rotate the secret?"
          text="Callbacks are signed with the new and the old secret for a day, so that your program can change."
          action="Rotate"
          kind="primary"
          trigger={<Button>Rotate</Button>}
          act={async () => {
            await api.POST("/api/v1/callbacks/endpoints/{id}/rotate", { params });
            await show.mutateAsync();
          }}
        />
      </div>
    </Panel>
  );
}
