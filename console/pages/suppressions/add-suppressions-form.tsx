import { useState } from "react";
import { useForm } from "react-hook-form";
import { suppress } from "../../api/people.ts";
import {
  importSuppressions,
  refreshSuppressions,
  type SuppressionImport,
} from "../../api/suppressions.ts";
import { Button } from "../../ui/button.tsx";
import { CsvFileField } from "../../ui/csv-file-field.tsx";
import { csvOfLines, linesOf } from "../../ui/csv-of-lines.ts";
import { FormError } from "../../ui/form-error.tsx";
import { ImportResult } from "../../ui/import-result.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { usePhoneHints } from "../../ui/phone-hints.ts";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { ShowCurl } from "../../ui/show-curl.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextAreaField } from "../../ui/text-area-field.tsx";
import { TextField } from "../../ui/text-field.tsx";
import { default_rule, RuleFields, type Rule } from "./rule-fields.tsx";

type Values = Rule & {
  readonly phone_number: string;
  readonly file?: FileList;
  readonly phone_number_column: string;
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
  const { any } = usePhoneHints();
  const [error, setError] = useState<Error | null>(null);
  const [percent, setPercent] = useState<number | null>(null);
  const [result, setResult] = useState<SuppressionImport | null>(null);
  const form = useForm<Values>({ defaultValues: default_rule });
  const { register, handleSubmit, formState, setError: setFieldError, watch } = form;
  const { errors, isSubmitting } = formState;
  const has_file = (watch("file")?.length ?? 0) > 0;
  const submit = handleSubmit(async (values) => {
    setError(null);
    try {
      const done = await send(values, setPercent);
      if (done) setResult(done);
      else onDone();
    } catch (caught) {
      setError(showFieldErrors<Values>(caught as Error, fields, setFieldError));
    } finally {
      setPercent(null);
    }
  });
  if (result) return <Result result={result} onDone={onDone} />;
  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      {!has_file && (
        <TextAreaField
          {...register("phone_number")}
          label="Numbers"
          hint={`One a line. ${any}`}
          error={errors.phone_number?.message}
        />
      )}
      <CsvFileField {...register("file")} error={errors.file?.message} />
      {has_file && (
        <TextField
          {...register("phone_number_column")}
          label="Column with the numbers"
          placeholder="phone_number"
          error={errors.phone_number_column?.message}
        />
      )}
      <RuleFields form={form} />
      {percent !== null && <ProgressBar label="Upload" percent={percent} />}
      <FormError error={error} />
      <ShowCurl submit={submit} />
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" kind="danger" busy={isSubmitting}>
          Suppress
        </Button>
      </div>
    </form>
  );
}

function Result({
  result,
  onDone,
}: {
  readonly result: SuppressionImport;
  readonly onDone: () => void;
}) {
  return (
    <>
      <ImportResult
        done={`Suppressed: ${formatCount(result.suppressed_count)}, of which newly or for longer: ${formatCount(result.changed_count)}.`}
        result={result}
      />
      <Button kind="primary" className="self-end" onClick={onDone}>
        Done
      </Button>
    </>
  );
}

/** Sends one number as such, so that its error is at the field, and more as a file. */
async function send(
  { phone_number: text, file, phone_number_column, ...values }: Values,
  onProgress: (percent: number) => void,
): Promise<SuppressionImport | null> {
  const chosen = file?.[0];
  if (chosen)
    return importSuppressions({ ...values, phone_number_column, file: chosen }, onProgress);
  const { channel, scope, reason, expires_at } = values;
  const numbers = linesOf(text);
  if (numbers.length > 1)
    return importSuppressions({ ...values, file: csvOfLines("phone_number", text) }, onProgress);
  await suppress({
    phone_number: numbers[0] ?? "",
    channel,
    scope,
    ...(reason ? { reason } : {}),
    ...(expires_at ? { expires_at } : {}),
  });
  await refreshSuppressions();
  return null;
}
