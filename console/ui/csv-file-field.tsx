import type { ComponentProps } from "react";
import { TextField } from "./text-field.tsx";

/** A CSV file, instead of text that is pasted above it. */
export function CsvFileField(
  input: Omit<ComponentProps<typeof TextField>, "label" | "type" | "accept">,
) {
  return <TextField {...input} label="Or a CSV file" type="file" accept=".csv,text/csv" />;
}
