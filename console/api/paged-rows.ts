import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";

/** What a table needs of a list that is read page by page. */
export function pagedRows<Row>(
  query: UseInfiniteQueryResult<InfiniteData<{ readonly data: readonly Row[] }>>,
): {
  readonly rows: readonly Row[];
  readonly loading: boolean;
  readonly loadMore: (() => void) | undefined;
} {
  const { data, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  return {
    rows: data?.pages.flatMap((page) => page.data) ?? [],
    loading: isPending,
    loadMore: hasNextPage && !isFetchingNextPage ? () => void fetchNextPage() : undefined,
  };
}
