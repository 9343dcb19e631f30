type ListPage = {
  readonly data: readonly unknown[];
  readonly next_cursor?: string | null;
  readonly nextCursor?: string | null;
};

/**
 * Reads pages from a cursor on until one has rows or is the last: a page of a filtered list ends where its search ends,
 * and may have none.
 */
export async function pageWithRows<Page extends ListPage>(
  cursor: string | undefined,
  read: (cursor: string | undefined) => Promise<Page>,
): Promise<Page> {
  for (let from = cursor; ;) {
    const page = await read(from);
    const next = page.next_cursor ?? page.nextCursor;
    if (page.data.length > 0 || !next) return page;
    from = next;
  }
}
