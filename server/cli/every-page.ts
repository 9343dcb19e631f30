/** Reads all pages of a list and returns their rows. */
export async function everyPage<Row>(
  list: (page: {
    limit: number;
    cursor?: string;
  }) => Promise<{ data: Row[]; next_cursor: string | null }>,
): Promise<Row[]> {
  const rows: Row[] = [];
  let next: string | null = null;
  do {
    const page = await list({ limit: 200, ...(next === null ? {} : { cursor: next }) });
    rows.push(...page.data);
    next = page.next_cursor;
  } while (next !== null);
  return rows;
}
