import { useState } from "react";
import { useForm } from "react-hook-form";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";

/** Asks for the name of a group. */
export function GroupNameForm({
  name,
  action,
  save,
  onCancel,
}: {
  readonly name: string;
  readonly action: string;
  readonly save: (name: string) => Promise<unknown>;
  readonly onCancel: () => void;
}) {
  const [error, setError] = useState<Error | null>(null);
  const form = useForm({ defaultValues: { name } });
  const { register, handleSubmit, formState, setError: setFieldError } = form;
  const submit = handleSubmit(async (values) => {
    setError(null);
    try {
      await save(values.name);
    } catch (caught) {
      setError(showFieldErrors(caught as Error, ["name"], setFieldError));
    }
  });
  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      <TextField
        {...register("name")}
        label="Name"
        placeholder="Newsletter"
        error={formState.errors.name?.message}
      />
      <UnsavedChanges isChanged={formState.isDirty} />
      <FormError error={error} />
      <FormActions submit={submit}>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" kind="primary" busy={formState.isSubmitting}>
          {action}
        </Button>
      </FormActions>
    </form>
  );
}
