import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { useForm } from "react-hook-form";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { permissionsQuery, type Permissions, type Role } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { changedParts } from "../../ui/form-fields.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";

/** Creates a role, or changes one for all of its users. */
export function RoleDialog({
  role,
  trigger,
}: {
  readonly role: Role | null;
  readonly trigger: ReactElement;
}) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title={role ? role.name : "New role"}
      text={role ? "Changes apply to all users with this role at once." : undefined}
      trigger={trigger}
      open={open}
      onOpenChange={setOpen}
    >
      <RoleForm role={role} onDone={() => setOpen(false)} />
    </Dialog>
  );
}

type Values = { name: string; permissions: Permissions };

/** The order in which permissions are ticked does not count as a change. */
const jsonOf = ({ name, permissions }: Values) => ({ name, permissions: permissions.toSorted() });

function RoleForm({ role, onDone }: { readonly role: Role | null; readonly onDone: () => void }) {
  const { data: known = [], error } = useQuery(permissionsQuery);
  const { register, handleSubmit, setError, formState } = useForm<Values>({
    defaultValues: {
      name: role?.name ?? "",
      permissions: (role?.permissions ?? []) as Permissions,
    },
  });
  const [formError, setFormError] = useState<Error | null>(null);
  const save = useMutation({
    mutationFn: async (values: Values) => {
      const json = jsonOf(values);
      // Only what changed, so that nobody else's change is undone.
      const changed = changedParts(jsonOf(formState.defaultValues as Values), json);
      if (!role) await api.POST("/api/v1/roles", { body: json });
      else if (Object.keys(changed).length > 0)
        await api.PATCH("/api/v1/roles/{id}", { params: { path: { id: role.id } }, body: changed });
      await queryClient.invalidateQueries({ queryKey: ["roles"] });
    },
    onSuccess: onDone,
    onError: (caught) => setFormError(showFieldErrors(caught, ["name"], setError)),
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
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 font-medium">Users with this role may</legend>
        {known.map(({ name, description }) => (
          <label key={name} className="flex items-start gap-2">
            <input type="checkbox" value={name} className="mt-1" {...register("permissions")} />
            {description}
          </label>
        ))}
      </fieldset>
      <UnsavedChanges isChanged={formState.isDirty} />
      <FormError error={formError ?? error} />
      <FormActions submit={handleSubmit((values) => save.mutateAsync(values))}>
        <Button onClick={onDone}>Cancel</Button>
        <Button kind="primary" type="submit" busy={save.isPending}>
          {role ? "Save" : "Create role"}
        </Button>
      </FormActions>
    </form>
  );
}
