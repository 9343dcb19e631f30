/** Returns the index of a column that is in the header exactly once; else the reason it is rejected. */
export function locateColumn(header: readonly string[], name: string): number | string {
  const at = header.indexOf(name);
  if (at < 0) return "is not a column of the file";
  return header.lastIndexOf(name) === at ? at : "is the header of two columns";
}

/** Returns the columns with a header, except those at `used`, and the first header that occurs twice. */
export function otherColumns(
  header: readonly string[],
  used: readonly number[],
): {
  readonly columns: readonly { readonly name: string; readonly at: number }[];
  readonly doubled: string | null;
} {
  const columns = header
    .map((name, at) => ({ name, at }))
    .filter(({ name, at }) => name !== "" && !used.includes(at));
  const doubled = columns.find(({ name, at }) => header.indexOf(name) !== at);
  return { columns, doubled: doubled?.name ?? null };
}
