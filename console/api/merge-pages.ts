import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";

type Page<Entry> = { readonly data: readonly Entry[] };
type Paged<Entry> = Pick<
  UseInfiniteQueryResult<InfiniteData<Page<Entry>>>,
  "data" | "hasNextPage" | "fetchNextPage"
>;

/**
 * Merges lists that are read page by page, newest first. Where a list goes on, nothing older than its last entry is
 * shown yet, so that no later page adds an entry between those that are shown.
 */
export function mergePages<One, Other>(
  one: Paged<One>,
  other: Paged<Other>,
  timeOf: (entry: One | Other) => string,
): { readonly entries: readonly (One | Other)[]; readonly loadMore: (() => void) | undefined } {
  const lists = [listOf<One | Other>(one), listOf<One | Other>(other)].map(
    ({ entries, loadMore }) => ({
      entries,
      loadMore,
      end: loadMore && entries.length > 0 ? timeOf(entries.at(-1)!) : "",
    }),
  );
  const last = lists.reduce((newest, list) => (list.end > newest.end ? list : newest));
  const entries = lists
    .flatMap((list) => list.entries.filter((entry) => timeOf(entry) >= last.end))
    .toSorted((a, b) => timeOf(b).localeCompare(timeOf(a)));
  return { entries, loadMore: last.loadMore ?? lists.find((list) => list.loadMore)?.loadMore };
}

function listOf<Entry>({ data, hasNextPage, fetchNextPage }: Paged<Entry>) {
  return {
    entries: data?.pages.flatMap((page) => page.data) ?? [],
    loadMore: hasNextPage ? () => void fetchNextPage() : undefined,
  };
}
