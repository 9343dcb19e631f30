import { useState, type ReactElement } from "react";
import { useForm } from "react-hook-form";
import { addField, changeField, type CustomField } from "../../api/lead-fields.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { changedParts } from "../../ui/form-fields.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextAreaField } from "../../ui/text-area-field.tsx";
import { TextField } from "../../ui/text-field.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { field_types } from "./custom-field-types.ts";

type Props = { readonly workspaceId: number; readonly field?: CustomField };

const types = Object.entries(field_types).map(([value, label]) => ({ value, label }));

/** Adds a field, or changes one. Its key and type never change, because programs and values rely on them. */
export function CustomFieldDialog({
  trigger,
  ...props
}: Props & { readonly trigger: ReactElement }) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title={props.field ? `Edit ${props.field.label}` : "New field"}
      trigger={trigger}
      open={open}
      onOpenChange={setOpen}
    >
      <CustomFieldForm {...props} onDone={() => setOpen(false)} />
    </Dialog>
  );
}

type Values = Pick<CustomField, "label" | "key" | "type" | "required"> & {
  readonly options: string;
};

const hasChoices = (type: string) => ["select", "multiselect"].includes(type);

/** What may change of a field, as the API takes it. */
function partsOf({ label, type, options, required }: Values) {
  const choices = options.split("\n").flatMap((line) => line.trim() || []);
  return { label, required, ...(hasChoices(type) ? { options: choices } : {}) };
}

const names = ["label", "key", "type", "options", "required"] as const;

function useFieldForm({ workspaceId, field, onDone }: Props & { readonly onDone: () => void }) {
  const [error, setError] = useState<Error | null>(null);
  const begun: Values = {
    label: field?.label ?? "",
    key: field?.key ?? "",
    type: field?.type ?? "text",
    options: field?.options.join("\n") ?? "",
    required: field?.required ?? false,
  };
  const form = useForm({ defaultValues: begun });
  const has_choices = hasChoices(form.watch("type"));
  const submit = form.handleSubmit(async (values) => {
    setError(null);
    const given = partsOf(values);
    try {
      if (field) {
        const changed = changedParts(partsOf(form.formState.defaultValues as Values), given);
        if (Object.keys(changed).length > 0) await changeField(workspaceId, field.id, changed);
      } else await addField(workspaceId, { ...given, key: values.key, type: values.type });
      onDone();
    } catch (caught) {
      setError(showFieldErrors(caught as Error, names, form.setError));
    }
  });
  return { form, error, has_choices, submit };
}

function CustomFieldForm(props: Props & { readonly onDone: () => void }) {
  const { form, error, has_choices, submit } = useFieldForm(props);
  const { register, formState } = form;
  const { errors } = formState;
  return (
    <form noValidate className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      <TextField {...register("label")} label="Label" error={errors.label?.message} />
      {!props.field && (
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            {...register("key")}
            label="Key"
            placeholder="contract_number"
            hint="Its name for programs. It never changes."
            error={errors.key?.message}
          />
          <SelectField
            {...register("type")}
            label="Type"
            options={types}
            error={errors.type?.message}
          />
        </div>
      )}
      {has_choices && (
        <TextAreaField
          {...register("options")}
          label="Choices"
          hint="One a line."
          error={errors.options?.message}
        />
      )}
      <label className="flex items-center gap-2">
        <input {...register("required")} type="checkbox" className="size-4" />A new lead must have a
        value
      </label>
      <UnsavedChanges isChanged={formState.isDirty} />
      <FormError error={error} />
      <FormActions submit={submit}>
        <Button onClick={props.onDone}>Cancel</Button>
        <Button type="submit" kind="primary" busy={formState.isSubmitting}>
          Save
        </Button>
      </FormActions>
    </form>
  );
}
