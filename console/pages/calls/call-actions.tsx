import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import type { CallDetail } from "../../api/call-records.ts";
import { api, body } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { useMay } from "../../ui/permission.ts";
import { ShowCurl } from "../../ui/show-curl.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";

const refresh = () => queryClient.invalidateQueries({ queryKey: ["calls"] });

/** Hang up, transfer and call again, as far as they apply now. */
export function CallActions({ call }: { readonly call: CallDetail }) {
  const may = useMay("calls.manage");
  const navigate = useNavigate();
  const { call_id: id, type, status, ended_at, answered_at, legs } = call;
  if (!may) return null;
  const hasAgent = legs.some((leg) => leg.role === "agent" && leg.answered_at !== null);
  const canRetry = type === "click_to_call" && ended_at !== null && answered_at === null;
  const params = { path: { id } };
  return (
    <>
      {status === "in-progress" && <TransferDialog id={id} />}
      {ended_at === null && (
        <ConfirmDialog
          title="End this call?"
          text="Everyone in it is disconnected. A call that waits is not placed."
          action="End the call"
          trigger={<Button kind="danger">End call</Button>}
          act={async () => {
            await api.POST("/api/v1/calls/{id}/hangup", { params });
            await refresh();
          }}
        />
      )}
      {canRetry && (
        <ConfirmDialog
          title="Call the customer again?"
          text="The agent is rung first, then the customer."
          action="Call again"
          kind="primary"
          trigger={<Button>Call again</Button>}
          act={async () => {
            const made = await body(
              api.POST("/api/v1/calls/{id}/retry", {
                params,
                body: { leg: hasAgent ? "customer" : "agent" },
              }),
            );
            await refresh();
            await navigate({ to: "/calls/$id", params: { id: made.call_id } });
          }}
        />
      )}
    </>
  );
}

type Values = { extension: string };

function TransferDialog({ id }: { readonly id: number }) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title="Transfer this call"
      text="Both keep talking until the extension answers."
      trigger={<Button>Transfer</Button>}
      open={open}
      onOpenChange={setOpen}
    >
      <TransferForm id={id} onDone={() => setOpen(false)} />
    </Dialog>
  );
}

function TransferForm({ id, onDone }: { readonly id: number; readonly onDone: () => void }) {
  const { register, handleSubmit, setError, formState } = useForm<Values>();
  const [formError, setFormError] = useState<Error | null>(null);
  const transfer = useMutation({
    mutationFn: async (json: Values) => {
      await api.POST("/api/v1/calls/{id}/transfer", { params: { path: { id } }, body: json });
      await refresh();
    },
    onSuccess: onDone,
    onError: (error) => setFormError(showFieldErrors(error, ["extension"], setError)),
  });
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) => void handleSubmit((values) => transfer.mutate(values))(event)}
    >
      <TextField
        label="Extension"
        inputMode="numeric"
        error={formState.errors.extension?.message}
        {...register("extension", { required: "Enter an extension" })}
      />
      <FormError error={formError} />
      <ShowCurl submit={handleSubmit((values) => transfer.mutateAsync(values))} />
      <Button kind="primary" type="submit" className="self-end" busy={transfer.isPending}>
        Transfer
      </Button>
    </form>
  );
}
