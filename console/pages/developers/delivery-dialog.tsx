import { useMutation, useQuery } from "@tanstack/react-query";
import { deliveryQuery, type Delivery, type DeliveryDetail } from "../../api/callbacks.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { useMay } from "../../ui/permission.ts";
import { Time } from "../../ui/time.tsx";
import { JsonText } from "./json-text.tsx";

/** What was sent of an event and what was replied. */
export function DeliveryDialog({
  delivery: { id, type },
  onClose,
}: {
  readonly delivery: Delivery;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={type} open onOpenChange={onClose}>
      <Content id={id} />
    </Dialog>
  );
}

function Content({ id }: { readonly id: number }) {
  const { data: delivery, error } = useQuery(deliveryQuery(id));
  const may = useMay("callbacks.manage");
  const replay = useMutation({
    mutationFn: async () => {
      await api.POST("/api/v1/callbacks/deliveries/{id}/replay", { params: { path: { id } } });
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: ["callback-delivery", id] }),
        queryClient.invalidateQueries({ queryKey: ["callback-deliveries"] }),
      ]);
    },
  });
  if (!delivery)
    return error ? <FormError error={error} /> : <p className="text-muted">Loading…</p>;
  return (
    <>
      <p className="text-muted wrap-anywhere">
        {delivery.method} {delivery.url}, webhook-id {delivery.webhook_id}
      </p>
      <h3 className="font-medium">Sent</h3>
      <JsonText label="What was sent" text={delivery.body} />
      <h3 className="font-medium">Attempts</h3>
      <Attempts delivery={delivery} />
      <FormError error={replay.error} />
      {may && (
        <Button className="self-end" busy={replay.isPending} onClick={() => replay.mutate()}>
          Send again
        </Button>
      )}
    </>
  );
}

function Attempts({ delivery: { all_attempts } }: { readonly delivery: DeliveryDetail }) {
  if (all_attempts.length === 0) return <p className="text-muted">None yet.</p>;
  return (
    <ol className="divide-line -my-2 flex flex-col divide-y">
      {all_attempts.toReversed().map(({ at, duration_ms, status, error, response }) => (
        <li key={at} className="flex flex-col gap-1.5 py-2">
          <p>
            <Time at={at} />: {error ?? status}, {duration_ms} ms
          </p>
          {response !== null && response !== "" && (
            <JsonText label="What was replied" text={response} />
          )}
        </li>
      ))}
    </ol>
  );
}
