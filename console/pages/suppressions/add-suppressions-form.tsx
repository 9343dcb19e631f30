import { useState } from "react";
import { useForm } from "react-hook-form";
import { suppress } from "../../api/people.ts";
import {
  importSuppressions,
  refreshSuppressions,
  type Suppression,
  type SuppressionImport,
} from "../../api/suppressions.ts";
import { Button } from "../../ui/button.tsx";
import { csvOfLines, linesOf } from "../../ui/csv-of-lines.ts";
import { FormError } from "../../ui/form-error.tsx";
import { ImportResult } from "../../ui/import-result.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { usePhoneFormats } from "../../ui/phone-formats.ts";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextAreaField } from "../../ui/text-area-field.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { CsvNumbersFields, useCsvNumbers, type CsvNumbers } from "../campaigns/csv-numbers.tsx";
import { default_rule, RuleFields, type Rule } from "./rule-fields.tsx";
import { SuppressedLonger } from "./suppressed-longer.tsx";

type Values = Rule & {
  readonly phone_number: string;
  // Of the chosen file, which is not a value of the form: where their errors are.
  readonly file?: never;
  readonly phone_number_column?: never;
};

const fields = [
  "phone_number",
  "file",
  "phone_number_column",
  "channel",
  "scope",
  "reason",
  "expires_at",
] as const;

export function AddSuppressionsForm({ onDone }: { readonly onDone: () => void }) {
  const { any } = usePhoneFormats();
  const [error, setError] = useState<Error | null>(null);
  const [percent, setPercent] = useState<number | null>(null);
  const [result, setResult] = useState<SuppressionImport | Suppression | null>(null);
  const form = useForm<Values>({ defaultValues: default_rule });
  const { register, handleSubmit, formState, setError: setFieldError, getValues } = form;
  const { errors, isSubmitting } = formState;
  const source = useCsvNumbers();
  const { csv } = source;
  const submit = handleSubmit(async (values) => {
    setError(null);
    try {
      const done = await send(values, csv, setPercent);
      if (done) setResult(done);
      else onDone();
    } catch (caught) {
      setError(showFieldErrors<Values>(caught as Error, fields, setFieldError));
    } finally {
      setPercent(null);
    }
  });
  const column = csv?.phone_column;
  if (result && "channel" in result)
    return <SuppressedLonger suppression={result} onDone={onDone} />;
  if (result)
    return (
      <Result
        result={result}
        column={column}
        pasted={column === undefined ? linesOf(getValues("phone_number")) : []}
        onDone={onDone}
      />
    );
  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      {!csv && (
        <TextAreaField
          {...register("phone_number")}
          label="Numbers"
          hint={`One a line. ${any}`}
          error={errors.phone_number?.message}
        />
      )}
      <CsvNumbersFields
        {...source}
        error={errors.file?.message}
        column_error={errors.phone_number_column?.message}
      />
      <RuleFields form={form} />
      {percent !== null && <ProgressBar label="Upload" percent={percent} />}
      <UnsavedChanges isChanged={formState.isDirty} />
      <FormError error={error} />
      <FormActions submit={submit}>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" kind="danger" busy={isSubmitting}>
          Suppress
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
  readonly result: SuppressionImport;
  readonly column: string | undefined;
  readonly pasted: readonly string[];
  readonly onDone: () => void;
}) {
  return (
    <>
      <ImportResult done={describeDone(result)} result={result} column={column} pasted={pasted} />
      <Button kind="primary" className="self-end" onClick={onDone}>
        Done
      </Button>
    </>
  );
}

function describeDone({ suppressed_count, changed_count }: SuppressionImport): string {
  const already = suppressed_count - changed_count;
  const numbers =
    suppressed_count === 1 ? "1 number is" : `${formatCount(suppressed_count)} numbers are`;
  return `${numbers} suppressed${already === 0 ? "" : `, ${formatCount(already)} of them already before`}.`;
}

/**
 * Sends one number as such, so that its error is at the field, and more as a file. Returns the result of the file, or the
 * suppression of the number if it lasted as long or longer already.
 */
async function send(
  { phone_number: text, channel, scope, reason, expires_at }: Values,
  csv: CsvNumbers | null,
  onProgress: (percent: number) => void,
): Promise<SuppressionImport | Suppression | null> {
  const values = { channel, scope, reason, expires_at };
  if (csv) {
    const { file, phone_column } = csv;
    return importSuppressions({ ...values, phone_number_column: phone_column, file }, onProgress);
  }
  const numbers = linesOf(text);
  if (numbers.length > 1)
    return importSuppressions({ ...values, file: csvOfLines("phone_number", text) }, onProgress);
  const existing = await suppress({
    phone_number: numbers[0] ?? "",
    channel,
    scope,
    ...(reason ? { reason } : {}),
    ...(expires_at ? { expires_at } : {}),
  });
  await refreshSuppressions();
  return existing;
}
