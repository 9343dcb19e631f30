import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import type { Sent } from "../../api/answer.ts";
import {
  createSavedView,
  deleteSavedView,
  updateSavedView,
  type SavedView,
} from "../../api/saved-views.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";

type Values = { name: string; shared: boolean };

const shell = getRouteApi("/shell");

/** Asks for the name of a new view. */
export function SaveViewDialog({
  view,
  onSaved,
}: {
  readonly view: Pick<Sent<"createSavedView">, "search" | "columns">;
  readonly onSaved: (id: number) => void;
}) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title="Save view"
      text="The filters and columns that are shown now, under a name."
      trigger={<Button kind="quiet">Save as view</Button>}
      open={open}
      onOpenChange={setOpen}
    >
      <ViewForm
        values={{ name: "", shared: false }}
        mayShare
        save={async (values) => {
          const id = await createSavedView({ page: "leads", ...values, ...view });
          setOpen(false);
          onSaved(id);
        }}
        onCancel={() => setOpen(false)}
      />
    </Dialog>
  );
}

/** Renames, shares or deletes a view. */
export function EditViewDialog({
  view,
  onDeleted,
}: {
  readonly view: SavedView;
  readonly onDeleted: () => void;
}) {
  const { me } = shell.useRouteContext();
  const [open, setOpen] = useState(false);
  const { id, name, shared, user_id } = view;
  return (
    <>
      <Dialog
        title="Edit view"
        trigger={<Button kind="quiet">Edit view</Button>}
        open={open}
        onOpenChange={setOpen}
      >
        <ViewForm
          values={{ name, shared }}
          mayShare={user_id === me.user.id}
          save={async (values) => {
            await updateSavedView(id, values);
            setOpen(false);
          }}
          onCancel={() => setOpen(false)}
        />
      </Dialog>
      <ConfirmDialog
        title={`Delete the view “${name}”?`}
        text={shared ? "It is deleted for everyone. No lead changes." : "No lead changes."}
        action="Delete view"
        trigger={<Button kind="quiet">Delete view</Button>}
        act={async () => {
          await deleteSavedView(id);
          onDeleted();
        }}
      />
    </>
  );
}

function ViewForm({
  values,
  mayShare,
  save,
  onCancel,
}: {
  readonly values: Values;
  /** Only the user who created a view may stop sharing it. */
  readonly mayShare: boolean;
  readonly save: (values: Values) => Promise<void>;
  readonly onCancel: () => void;
}) {
  const [error, setError] = useState<Error | null>(null);
  const form = useForm({ defaultValues: values });
  const { register, handleSubmit, setError: setFieldError, formState } = form;
  const submit = handleSubmit(async ({ name, shared }) => {
    setError(null);
    try {
      await save({ name, shared: mayShare ? shared : values.shared });
    } catch (caught) {
      setError(showFieldErrors(caught as Error, ["name"], setFieldError));
    }
  });
  return (
    <form className="flex flex-col gap-4" noValidate onSubmit={(event) => void submit(event)}>
      <TextField
        {...register("name", { required: "Enter a name" })}
        label="Name"
        placeholder="New leads from the fair"
        error={formState.errors.name?.message}
      />
      <label className="flex items-center gap-2">
        <input {...register("shared")} type="checkbox" disabled={!mayShare} className="size-4" />
        Share with everyone in the account
      </label>
      <FormError error={error} />
      <FormActions submit={submit}>
        <Button onClick={onCancel}>Cancel</Button>
        <Button kind="primary" type="submit" busy={formState.isSubmitting}>
          Save
        </Button>
      </FormActions>
    </form>
  );
}
