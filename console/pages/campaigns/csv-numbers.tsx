import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { CsvFileField } from "../../ui/csv-file-field.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { SelectField } from "../../ui/select-field.tsx";
import { readAudience } from "./read-audience.ts";
import { readFile } from "./read-file.ts";

/** A chosen CSV file. */
export type CsvNumbers = {
  readonly file: File;
  readonly columns: readonly string[];
  /** The name of the column with the numbers. */
  readonly phone_column: string;
};

/** The file that a form uploads, with its columns and the one that has the numbers, as far as it shows. */
export function useCsvNumbers() {
  const [csv, setCsv] = useState<CsvNumbers | null>(null);
  return {
    csv,
    async choose(file: File | null) {
      if (!file) return setCsv(null);
      const read = await readFile(file);
      const { columns, phone_column } = readAudience(typeof read === "string" ? read : read.head);
      setCsv({ file, columns, phone_column: columns[phone_column] ?? "" });
    },
    choosePhoneColumn: (phone_column: string) => setCsv((old) => old && { ...old, phone_column }),
  };
}

type Props = ReturnType<typeof useCsvNumbers> & {
  readonly error: string | undefined;
  readonly column_error: string | undefined;
  readonly hint?: string;
};

/** Chooses a file, or shows the one that was chosen and which of its columns has the numbers. */
export function CsvNumbersFields({
  csv,
  choose,
  choosePhoneColumn,
  error,
  column_error,
  hint,
}: Props) {
  if (!csv)
    return <CsvFileField error={error} hint={hint} onChoose={(file) => void choose(file)} />;
  const { file, columns, phone_column } = csv;
  return (
    <>
      <div className="border-line flex items-center justify-between gap-3 rounded-lg border p-3">
        <p className="min-w-0">
          <span className="font-medium wrap-anywhere">{file.name}</span>{" "}
          <span className="text-muted">{formatCount(Math.ceil(file.size / 1_000))} kB</span>
          {error !== undefined && (
            <span role="alert" className="text-danger block text-xs">
              The file {error}.
            </span>
          )}
        </p>
        <Button onClick={() => void choose(null)}>Remove</Button>
      </div>
      <SelectField
        label="Column with the numbers"
        name="phone_number_column"
        options={columns.map((value) => ({ value, label: value }))}
        value={phone_column}
        error={column_error}
        onChange={({ target }) => choosePhoneColumn(target.value)}
      />
    </>
  );
}
