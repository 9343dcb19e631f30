import { useMutation } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { useForm } from "react-hook-form";
import type { AgentGroup } from "../../api/agents.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { ShowCurl } from "../../ui/show-curl.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";

/** Creates a group of agents, or renames one. */
export function GroupNameDialog({
  group,
  trigger,
}: {
  readonly group: AgentGroup | null;
  readonly trigger: ReactElement;
}) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title={group ? `Rename ${group.name}` : "New group of agents"}
      trigger={trigger}
      open={open}
      onOpenChange={setOpen}
    >
      <NameForm group={group} onDone={() => setOpen(false)} />
    </Dialog>
  );
}

type Values = { name: string };

function NameForm({
  group,
  onDone,
}: {
  readonly group: AgentGroup | null;
  readonly onDone: () => void;
}) {
  const { register, handleSubmit, setError, formState } = useForm<Values>({
    defaultValues: { name: group?.name ?? "" },
  });
  const [formError, setFormError] = useState<Error | null>(null);
  const save = useMutation({
    mutationFn: async (json: Values) => {
      await (group
        ? api.PATCH("/api/v1/agent-groups/{id}", {
            params: { path: { id: group.id } },
            body: json,
          })
        : api.POST("/api/v1/agent-groups", { body: json }));
      await queryClient.invalidateQueries({ queryKey: ["agent-groups"] });
    },
    onSuccess: onDone,
    onError: (error) => setFormError(showFieldErrors(error, ["name"], setError)),
  });
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) => void handleSubmit((values) => save.mutate(values))(event)}
    >
      <TextField
        label="Name"
        error={formState.errors.name?.message}
        {...register("name", { required: "Enter a name" })}
      />
      <FormError error={formError} />
      <ShowCurl submit={handleSubmit((values) => save.mutateAsync(values))} />
      <Button kind="primary" type="submit" className="self-end" busy={save.isPending}>
        {group ? "Rename" : "Create group"}
      </Button>
    </form>
  );
}
