import { useState, type ReactElement } from "react";
import { useForm } from "react-hook-form";
import {
  addOption,
  changeOption,
  type OptionPlace,
  type PicklistOption,
} from "../../api/lead-fields.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { changedParts } from "../../ui/form-fields.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";

type Props = { readonly place: OptionPlace; readonly option?: PicklistOption };

/** Adds an option, or changes one. */
export function OptionDialog({ trigger, ...props }: Props & { readonly trigger: ReactElement }) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title={props.option ? `Edit ${props.option.label}` : "New option"}
      trigger={trigger}
      open={open}
      onOpenChange={setOpen}
    >
      <OptionForm {...props} onDone={() => setOpen(false)} />
    </Dialog>
  );
}

const default_color = "#0f766e";

function OptionForm({ place, option, onDone }: Props & { readonly onDone: () => void }) {
  const [error, setError] = useState<Error | null>(null);
  const [begun] = useState(option);
  const form = useForm({
    defaultValues: {
      label: option?.label ?? "",
      has_color: option === undefined || option.color !== null,
      color: option?.color ?? default_color,
      isDefault: option?.isDefault ?? false,
    },
  });
  const { register, formState } = form;
  // The default becomes another's by making that one the default.
  const may_be_default = place.picklist !== "source" && !option?.isDefault;
  const submit = form.handleSubmit(async ({ label, has_color, color, isDefault }) => {
    setError(null);
    const default_part = may_be_default && isDefault ? { isDefault } : {};
    try {
      if (!option) {
        await addOption(place, { label, ...(has_color ? { color } : {}), ...default_part });
        return onDone();
      }
      const given = { label, color: has_color ? color : null, ...default_part };
      const changed = changedParts({ ...begun }, given);
      if (Object.keys(changed).length > 0) await changeOption(place, option.id, changed);
      onDone();
    } catch (caught) {
      setError(showFieldErrors(caught as Error, ["label", "color", "isDefault"], form.setError));
    }
  });
  const { errors } = formState;
  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      <TextField {...register("label")} label="Label" error={errors.label?.message} />
      <label className="flex items-center gap-2">
        <input {...register("has_color")} type="checkbox" className="size-4" />
        Shown in a color
      </label>
      {form.watch("has_color") && (
        <TextField
          {...register("color")}
          type="color"
          label="Color"
          error={errors.color?.message}
        />
      )}
      {may_be_default && (
        <label className="flex items-center gap-2">
          <input {...register("isDefault")} type="checkbox" className="size-4" />
          New leads have it unless another is chosen
        </label>
      )}
      <UnsavedChanges isChanged={formState.isDirty} />
      <FormError error={error} />
      <FormActions submit={submit}>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" kind="primary" busy={formState.isSubmitting}>
          Save
        </Button>
      </FormActions>
    </form>
  );
}
