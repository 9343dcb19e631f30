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
}: {
  readonly done: string;
  readonly result: Rejects;
}) {
  const { duplicate_count, rejected_count, rejects } = result;
  return (
    <div role="status" className="flex flex-col gap-3">
      <p className="font-medium">{done}</p>
      {duplicate_count > 0 && (
        <p className="text-muted">{formatCount(duplicate_count)} rows repeat an earlier number.</p>
      )}
      {rejected_count > 0 && (
        <>
          <p className="text-danger">{formatCount(rejected_count)} rows were left out:</p>
          <ul aria-label="Rejected rows" className="flex max-h-48 flex-col gap-1 overflow-y-auto">
            {rejects.slice(0, listed_max).map(({ row_number, errors }) => (
              <li key={row_number} className="text-muted text-xs wrap-anywhere">
                Row {row_number}:{" "}
                {errors.map(({ field, reason }) => `${field} ${reason}`).join("; ")}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
