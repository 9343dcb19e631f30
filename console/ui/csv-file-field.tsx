import { Field as Base } from "@base-ui/react/field";
import { Field } from "./field.tsx";

/** The button that chooses a file. */
const file_input_class =
  "file:border-line file:bg-panel file:text-ink hover:file:bg-hover text-muted max-w-full file:mr-3 file:h-9 file:rounded-lg file:border file:px-3.5 file:font-medium";

/** A CSV file, instead of text that is pasted above it. */
export function CsvFileField({
  error,
  hint,
  onChoose,
}: {
  readonly error: string | undefined;
  readonly hint?: string | undefined;
  readonly onChoose: (file: File | null) => void;
}) {
  return (
    <Field label="Or a CSV file" name="file" error={error} hint={hint}>
      <Base.Control
        type="file"
        accept=".csv,.txt,text/csv,text/plain"
        onChange={({ target }) => onChoose(target.files?.[0] ?? null)}
        className={file_input_class}
      />
    </Field>
  );
}
