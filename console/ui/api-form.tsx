import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { flushSync } from "react-dom";
import { useForm } from "react-hook-form";
import { Button } from "./button.tsx";
import { FormError } from "./form-error.tsx";
import {
  changedParts,
  FormInputs,
  jsonOf,
  showFormErrors,
  valuesOf,
  withChosen,
  type FormField,
  type FormValues,
} from "./form-fields.tsx";
import { FormActions } from "./form-actions.tsx";
import { UnsavedChanges } from "./unsaved-changes.tsx";
import { useKeyedWrite } from "./use-keyed-write.ts";

export type ApiFormProps = {
  readonly fields: readonly FormField[];
  /** What the fields show at first. */
  readonly known?: object;
  /** The words of the button that saves. */
  readonly action: string;
  /**
   * Sends the object that the fields say, or only what differs from what they showed at first. The key is an
   * Idempotency-Key, for what must not be created twice.
   */
  readonly save: (json: FormValues, changed: FormValues, key: string) => Promise<unknown>;
};

/** A form that creates or changes one thing of the API. */
export function ApiForm({
  fields: given,
  known = {},
  action,
  save: send,
  onDone,
}: ApiFormProps & { readonly onDone?: () => void }) {
  const fields = withChosen(given, known);
  // As it was when the form was opened: `known` may be read again meanwhile.
  const [initial] = useState(() => valuesOf(known, fields));
  const { register, handleSubmit, setError, formState } = useForm<FormValues>({
    defaultValues: initial,
  });
  const [isSaved, setIsSaved] = useState(false);
  const [formError, setFormError] = useState<Error | null>(null);
  const write = useKeyedWrite();
  const save = useMutation({
    mutationFn: (values: FormValues) => {
      const json = jsonOf(values, fields);
      const changed = changedParts(jsonOf(initial, fields), json);
      return write(json, (key) => send(json, changed, key));
    },
    onMutate: () => {
      setFormError(null);
      setIsSaved(false);
    },
    onSuccess: () => {
      // Before a navigation, which would ask about the changes of this form otherwise.
      flushSync(() => setIsSaved(true));
      onDone?.();
    },
    onError: (error) => {
      const names = fields.map(({ name }) => name);
      setFormError(showFormErrors(error, names, setError));
    },
  });
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) => void handleSubmit((values) => save.mutate(values))(event)}
    >
      <div className="grid gap-4">
        <FormInputs fields={fields} register={register} errors={formState.errors} />
      </div>
      <UnsavedChanges isChanged={formState.isDirty && !isSaved} />
      <FormError error={formError} />
      <FormActions submit={handleSubmit((values) => save.mutateAsync(values))}>
        <Button kind="primary" type="submit" busy={save.isPending}>
          {action}
        </Button>
      </FormActions>
    </form>
  );
}
