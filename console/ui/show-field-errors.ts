import type { FieldValues, Path, UseFormSetError } from "react-hook-form";
import { ApiProblem } from "../api/problem.ts";

/**
 * Shows each violation of a 422 at its field and focuses the first. Returns the error if it belongs to no field of the
 * form, to be shown above the button.
 */
export function showFieldErrors<Values extends FieldValues>(
  error: Error,
  fields: readonly Path<Values>[],
  setError: UseFormSetError<Values>,
): Error | null {
  if (!(error instanceof ApiProblem)) return error;
  const known = error.errors.filter(({ field }) => fields.includes(field as Path<Values>));
  for (const [index, { field, reason }] of known.entries())
    setError(field as Path<Values>, { message: reason }, { shouldFocus: index === 0 });
  return known.length > 0 ? null : error;
}
