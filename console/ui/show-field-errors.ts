import type { FieldValues, Path, UseFormSetError } from "react-hook-form";
import { ApiProblem } from "../api/problem.ts";
import { fieldError } from "../messages/field-error.ts";

/** More would not fit above the button. */
const others_max = 5;

/**
 * Shows each violation of a 422 at its field and focuses the first. Returns an error that names those that belong to no
 * field of the form, to be shown above the button; null if there are none.
 */
export function showFieldErrors<Values extends FieldValues>(
  error: Error,
  fields: readonly Path<Values>[],
  setError: UseFormSetError<Values>,
): Error | null {
  if (!(error instanceof ApiProblem) || error.errors.length === 0) return error;
  const isKnown = ({ field }: { field: string }) => fields.includes(field as Path<Values>);
  const known = error.errors.filter(isKnown);
  for (const [index, { field, reason }] of known.entries())
    setError(field as Path<Values>, { message: reason }, { shouldFocus: index === 0 });
  return naming(
    error,
    error.errors.filter((one) => !isKnown(one)),
  );
}

/** Returns the error with a message about these of its violations. */
function naming(error: ApiProblem, others: ApiProblem["errors"]): ApiProblem | null {
  if (others.length === 0) return null;
  // The message of the API names it already.
  if (error.errors.length === 1) return error;
  const { status, type, request_id } = error;
  const named = others.slice(0, others_max).map(({ field, reason }) => fieldError(field, reason));
  const more = others.length > others_max ? [`${others.length - others_max} more.`] : [];
  return new ApiProblem(status, type, [...named, ...more].join(" "), {
    errors: others,
    request_id,
  });
}
