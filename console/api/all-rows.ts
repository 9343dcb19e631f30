type ListPage<Row> = {
  readonly data: readonly Row[];
  readonly next_cursor?: string | null;
  readonly nextCursor?: string | null;
};

/** As many rows as one page may have. */
const limit = 200;

/** Ends a list that a browser should not hold: 10,000 rows. */
const pages_max = 50;

/** Reads a list to its end, page by page, for a select or for names: at most 10,000 rows. */
export async function allRows<Row>(
  read: (page: { limit: number; cursor: string | undefined }) => Promise<ListPage<Row>>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < pages_max; pages++) {
    const page = await read({ limit, cursor });
    rows.push(...page.data);
    cursor = page.next_cursor ?? page.nextCursor ?? undefined;
    if (cursor === undefined) break;
  }
  return rows;
}
