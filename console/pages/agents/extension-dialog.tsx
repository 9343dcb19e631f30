import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { useForm } from "react-hook-form";
import type { Extension } from "../../api/agents.ts";
import { api } from "../../api/client.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { queryClient } from "../../api/query-client.ts";
import { usersQuery } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { useMay } from "../../ui/permission.ts";
import { SelectField } from "../../ui/select-field.tsx";
import { ShowCurl } from "../../ui/show-curl.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";

/** Creates an extension, or changes one. */
export function ExtensionDialog({
  extension,
  trigger,
}: {
  readonly extension: Extension | null;
  readonly trigger: ReactElement;
}) {
  const [open, setOpen] = useState(false);
  const may = useMay("users.read");
  const users = useInfiniteQuery({ ...usersQuery, enabled: may && open });
  return (
    <Dialog
      title={extension ? `Extension ${extension.extension}` : "New extension"}
      trigger={trigger}
      open={open}
      onOpenChange={setOpen}
    >
      {may && users.isPending ? (
        // A select drops a value for which it has no option yet.
        <p className="text-muted">Loading…</p>
      ) : (
        <ExtensionForm
          extension={extension}
          users={pagedRows(users).rows.map(({ id, name }) => ({ value: id, label: name }))}
          onDone={() => setOpen(false)}
        />
      )}
    </Dialog>
  );
}

type Values = { extension: string; name: string; user_id: string; digit: string };

const fields = ["extension", "name", "user_id", "digit"] as const;

/** Who may not see users does not change the extension's. */
async function saveExtension(
  known: Extension | null,
  { extension, name, user_id, digit }: Values,
  knowsUsers: boolean,
): Promise<void> {
  const json = {
    extension,
    name,
    digit: digit === "" ? null : digit,
    ...(knowsUsers ? { user_id: user_id === "" ? null : Number(user_id) } : {}),
  };
  await (known
    ? api.PATCH("/api/v1/extensions/{id}", { params: { path: { id: known.id } }, body: json })
    : api.POST("/api/v1/extensions", { body: json }));
  await queryClient.invalidateQueries({ queryKey: ["extensions"] });
}

function ExtensionForm({
  extension: known,
  users,
  onDone,
}: {
  readonly extension: Extension | null;
  readonly users: readonly { readonly value: number; readonly label: string }[];
  readonly onDone: () => void;
}) {
  const { register, handleSubmit, setError, formState } = useForm<Values>({
    defaultValues: {
      extension: known?.extension ?? "",
      name: known?.name ?? "",
      user_id: String(known?.user_id ?? ""),
      digit: known?.digit ?? "",
    },
  });
  const [formError, setFormError] = useState<Error | null>(null);
  const save = useMutation({
    mutationFn: (values: Values) => saveExtension(known, values, users.length > 0),
    onMutate: () => setFormError(null),
    onSuccess: onDone,
    onError: (error) => setFormError(showFieldErrors(error, fields, setError)),
  });
  const { errors } = formState;
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) => void handleSubmit((values) => save.mutate(values))(event)}
    >
      <TextField
        label="Extension"
        inputMode="numeric"
        error={errors.extension?.message}
        {...register("extension", { required: "Enter two to six digits" })}
      />
      <TextField
        label="Name"
        error={errors.name?.message}
        {...register("name", { required: "Enter a name" })}
      />
      {users.length > 0 && (
        <SelectField
          label="User"
          placeholder="None"
          options={users}
          error={errors.user_id?.message}
          {...register("user_id")}
        />
      )}
      <TextField
        label="Transfer key"
        inputMode="numeric"
        error={errors.digit?.message}
        hint="A digit: an agent presses * and it to transfer a call here."
        {...register("digit")}
      />
      <FormError error={formError} />
      <ShowCurl submit={handleSubmit((values) => save.mutateAsync(values))} />
      <Button kind="primary" type="submit" className="self-end" busy={save.isPending}>
        {known ? "Save" : "Create extension"}
      </Button>
    </form>
  );
}
