import { useState } from "react";
import { useForm } from "react-hook-form";
import { importMembers, type MemberImport } from "../../api/groups.ts";
import { Button } from "../../ui/button.tsx";
import { csvOfLines, linesOf } from "../../ui/csv-of-lines.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { ImportResult } from "../../ui/import-result.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { usePhoneFormats } from "../../ui/phone-formats.ts";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextAreaField } from "../../ui/text-area-field.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { CsvNumbersFields, useCsvNumbers } from "../campaigns/csv-numbers.tsx";

type Values = {
  readonly numbers: string;
  readonly name_column: string;
  // Of the chosen file, which is not a value of the form: where their errors are.
  readonly file?: never;
  readonly phone_number_column?: never;
};

/** Adds pasted numbers or the rows of a file to a group. */
export function AddMembersDialog({ id }: { readonly id: number }) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title="Add members"
      text="A member with the number of an existing one replaces it."
      trigger={<Button kind="primary">Add members</Button>}
      open={open}
      onOpenChange={setOpen}
    >
      <AddMembersForm id={id} onDone={() => setOpen(false)} />
    </Dialog>
  );
}

function AddMembersForm({ id, onDone }: { readonly id: number; readonly onDone: () => void }) {
  const { any } = usePhoneFormats();
  const [error, setError] = useState<Error | null>(null);
  const [percent, setPercent] = useState<number | null>(null);
  const [result, setResult] = useState<MemberImport | null>(null);
  const form = useForm<Values>();
  const { register, handleSubmit, formState, setError: setFieldError, getValues } = form;
  const { errors, isSubmitting } = formState;
  const source = useCsvNumbers();
  const { csv } = source;
  const submit = handleSubmit(async ({ numbers, name_column }) => {
    setError(null);
    const parts = csv
      ? { phone_number_column: csv.phone_column, name_column, file: csv.file }
      : { file: csvOfLines("phone_number", numbers) };
    try {
      setResult(await importMembers(id, parts, setPercent));
    } catch (caught) {
      const names = ["file", "phone_number_column", "name_column"] as const;
      setError(showFieldErrors<Values>(caught as Error, names, setFieldError));
    } finally {
      setPercent(null);
    }
  });
  const column = csv?.phone_column;
  if (result)
    return (
      <Result
        result={result}
        column={column}
        pasted={column === undefined ? linesOf(getValues("numbers")) : []}
        onDone={onDone}
      />
    );
  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      {!csv && (
        <TextAreaField {...register("numbers")} label="Numbers" hint={`One a line. ${any}`} />
      )}
      <CsvNumbersFields
        {...source}
        hint="Further columns become variables of the messages."
        error={errors.file?.message}
        column_error={errors.phone_number_column?.message}
      />
      {csv && (
        <SelectField
          {...register("name_column")}
          label="Column with the names"
          placeholder="The one called “name”, if there is one"
          options={csv.columns.map((value) => ({ value, label: value }))}
          error={errors.name_column?.message}
        />
      )}
      {percent !== null && <ProgressBar label="Upload" percent={percent} />}
      <UnsavedChanges isChanged={formState.isDirty} />
      <FormError error={error} />
      <FormActions submit={submit}>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" kind="primary" busy={isSubmitting}>
          Add
        </Button>
      </FormActions>
    </form>
  );
}

function Result({
  result,
  column,
  pasted,
  onDone,
}: {
  readonly result: MemberImport;
  readonly column: string | undefined;
  readonly pasted: readonly string[];
  readonly onDone: () => void;
}) {
  const { added_count, updated_count } = result;
  return (
    <>
      <ImportResult
        done={`${formatCount(added_count)} added, ${formatCount(updated_count)} updated.`}
        result={result}
        column={column}
        pasted={pasted}
      />
      <Button kind="primary" className="self-end" onClick={onDone}>
        Done
      </Button>
    </>
  );
}
