import { fieldError } from "../messages/field-error.ts";
import { formatCount } from "./numbers.ts";

type Rejects = {
  readonly duplicate_count: number;
  readonly rejected_count: number;
  readonly rejects: readonly {
    readonly row_number: number;
    readonly errors: readonly { readonly field: string; readonly reason: string }[];
  }[];
};

const listed_max = 20;

/** What an import did, and which rows it left out and why. */
export function ImportResult({
  done,
  result,
  column = "The number",
  pasted,
}: {
  readonly done: string;
  readonly result: Rejects;
  /** What the file calls the numbers. */
  readonly column: string | undefined;
  /** The lines that were pasted instead of a file. */
  readonly pasted: readonly string[];
}) {
  const { duplicate_count, rejected_count, rejects } = result;
  return (
    <div role="status" className="flex flex-col gap-3">
      <p className="font-medium">{done}</p>
      {duplicate_count > 0 && (
        <p className="text-muted">
          {duplicate_count === 1 ? "1 row repeats" : `${formatCount(duplicate_count)} rows repeat`}{" "}
          an earlier number.
        </p>
      )}
      {rejected_count > 0 && (
        <>
          <p className="text-danger">
            {rejected_count === 1 ? "1 row was" : `${formatCount(rejected_count)} rows were`} left
            out:
          </p>
          <ul aria-label="Rejected rows" className="flex max-h-48 flex-col gap-1 overflow-y-auto">
            {rejects.slice(0, listed_max).map(({ row_number, errors }) => (
              <li key={row_number} className="text-muted text-xs wrap-anywhere">
                {/* The header is row 1. */}
                {pasted[row_number - 2] ?? `Row ${row_number}`}:{" "}
                {errors
                  .map(({ field, reason }) =>
                    fieldError(field === "phone_number" ? column : field, reason),
                  )
                  .join(" ")}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
