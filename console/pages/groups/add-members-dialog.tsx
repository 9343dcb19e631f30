import { useState } from "react";
import { useForm, type FieldErrors, type UseFormRegister } from "react-hook-form";
import { importMembers, type MemberImport } from "../../api/groups.ts";
import { Button } from "../../ui/button.tsx";
import { csvOfLines } from "../../ui/csv-of-lines.ts";
import { CsvFileField } from "../../ui/csv-file-field.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { ImportResult } from "../../ui/import-result.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { usePhoneHints } from "../../ui/phone-hints.ts";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { ShowCurl } from "../../ui/show-curl.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextAreaField } from "../../ui/text-area-field.tsx";
import { TextField } from "../../ui/text-field.tsx";

type Values = {
  readonly numbers: string;
  readonly file?: FileList;
  readonly phone_number_column: string;
  readonly name_column: string;
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
  const { any } = usePhoneHints();
  const [error, setError] = useState<Error | null>(null);
  const [percent, setPercent] = useState<number | null>(null);
  const [result, setResult] = useState<MemberImport | null>(null);
  const form = useForm<Values>();
  const { register, handleSubmit, formState, setError: setFieldError, watch } = form;
  const { errors, isSubmitting } = formState;
  const has_file = (watch("file")?.length ?? 0) > 0;
  const submit = handleSubmit(async ({ numbers, file, phone_number_column, name_column }) => {
    setError(null);
    const parts = file?.[0]
      ? { phone_number_column, name_column, file: file[0] }
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
  if (result) return <Result result={result} onDone={onDone} />;
  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      {!has_file && (
        <TextAreaField {...register("numbers")} label="Numbers" hint={`One a line. ${any}`} />
      )}
      <CsvFileField
        {...register("file")}
        hint="Further columns become variables of the messages."
        error={errors.file?.message}
      />
      {has_file && <ColumnFields register={register} errors={errors} />}
      {percent !== null && <ProgressBar label="Upload" percent={percent} />}
      <FormError error={error} />
      <ShowCurl submit={submit} />
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" kind="primary" busy={isSubmitting}>
          Add
        </Button>
      </div>
    </form>
  );
}

function Result({
  result,
  onDone,
}: {
  readonly result: MemberImport;
  readonly onDone: () => void;
}) {
  const { added_count, updated_count } = result;
  return (
    <>
      <ImportResult
        done={`${formatCount(added_count)} added, ${formatCount(updated_count)} updated.`}
        result={result}
      />
      <Button kind="primary" className="self-end" onClick={onDone}>
        Done
      </Button>
    </>
  );
}

function ColumnFields({
  register,
  errors,
}: {
  readonly register: UseFormRegister<Values>;
  readonly errors: FieldErrors<Values>;
}) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <TextField
        {...register("phone_number_column")}
        label="Column with the numbers"
        placeholder="phone_number"
        error={errors.phone_number_column?.message}
      />
      <TextField
        {...register("name_column")}
        label="Column with the names"
        placeholder="name"
        error={errors.name_column?.message}
      />
    </div>
  );
}
