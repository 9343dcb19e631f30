import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { replaysQuery, type Replay } from "../../api/callbacks.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { Time } from "../../ui/time.tsx";

const shell = getRouteApi("/shell");

/** Sends the events of a time again, and shows how far that is. */
export function Replays({ id }: { readonly id: number }) {
  const { data: replays = [], error } = useQuery(replaysQuery(id));
  const [open, setOpen] = useState(false);
  return (
    <Panel title="Replays">
      <p className="text-muted">
        After a failure of your program: the events it missed, once more.
      </p>
      <FormError error={error} />
      {replays.length > 0 && (
        <ul className="divide-line flex flex-col divide-y">
          {replays.map((replay) => (
            <ReplayRow key={replay.id} replay={replay} />
          ))}
        </ul>
      )}
      <Dialog
        title="Replay events"
        trigger={<Button className="self-start">Replay events</Button>}
        open={open}
        onOpenChange={setOpen}
      >
        <ReplayForm id={id} onDone={() => setOpen(false)} />
      </Dialog>
    </Panel>
  );
}

function ReplayRow({
  replay: { from, to, reached, state, deliveries_count },
}: {
  readonly replay: Replay;
}) {
  const [begin, end, now] = [from, to, reached].map((at) => Date.parse(at)) as [
    number,
    number,
    number,
  ];
  const percent = end > begin ? Math.floor(((now - begin) / (end - begin)) * 100) : 100;
  return (
    <li className="flex flex-col gap-1.5 py-2">
      <p>
        From <Time at={from} /> to <Time at={to} />: {formatCount(deliveries_count)} sent again
        {state === "failed" && ", then the endpoint was disabled"}
      </p>
      {state === "processing" && <ProgressBar label="Progress of the replay" percent={percent} />}
    </li>
  );
}

type Values = { from: string; to: string; include: "undelivered" | "all" };

function ReplayForm({ id, onDone }: { readonly id: number; readonly onDone: () => void }) {
  const { time_zone } = shell.useRouteContext().me.account;
  const { register, handleSubmit, setError, formState } = useForm<Values>({
    defaultValues: { from: "", to: "", include: "undelivered" },
  });
  const [formError, setFormError] = useState<Error | null>(null);
  const begin = useMutation({
    mutationFn: async ({ to, ...json }: Values) => {
      await api.POST("/api/v1/callbacks/endpoints/{id}/replay", {
        params: { path: { id } },
        body: { ...json, ...(to === "" ? {} : { to }) },
      });
      await queryClient.invalidateQueries({ queryKey: ["callback-replays", id] });
    },
    onMutate: () => setFormError(null),
    onSuccess: onDone,
    onError: (error) => setFormError(showFieldErrors(error, ["from", "to", "include"], setError)),
  });
  const { errors } = formState;
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) => void handleSubmit((values) => begin.mutate(values))(event)}
    >
      <TextField
        label="From"
        type="datetime-local"
        error={errors.from?.message}
        hint={`In the account's time zone (${time_zone}).`}
        {...register("from", { required: "Choose when the failure began" })}
      />
      <TextField
        label="Until"
        type="datetime-local"
        error={errors.to?.message}
        hint="Leave it empty for now."
        {...register("to")}
      />
      <SelectField
        label="Which"
        options={[
          { value: "undelivered", label: "Those that did not arrive" },
          { value: "all", label: "All" },
        ]}
        error={errors.include?.message}
        {...register("include")}
      />
      <FormError error={formError} />
      <FormActions submit={handleSubmit((values) => begin.mutateAsync(values))}>
        <Button kind="primary" type="submit" busy={begin.isPending}>
          Replay
        </Button>
      </FormActions>
    </form>
  );
}
