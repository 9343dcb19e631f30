import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";

/** What a table needs of a list that is read page by page. */
export function pagedRows<Row>(
  query: UseInfiniteQueryResult<InfiniteData<{ readonly data: readonly Row[] }>>,
): {
  readonly rows: readonly Row[];
  readonly loading: boolean;
  readonly loadMore: (() => void) | undefined;
  readonly tryAgain: (() => void) | undefined;
} {
  const { data, isPending, hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = query;
  // A refresh that is on its way is not cancelled.
  const load = () => void fetchNextPage({ cancelRefetch: false });
  const canLoad = hasNextPage && !isFetching;
  return {
    rows: data?.pages.flatMap((page) => page.data) ?? [],
    loading: isPending,
    // A table loads by itself, so a page that was refused would be requested without end.
    loadMore: canLoad && !isFetchNextPageError ? load : undefined,
    tryAgain: canLoad && isFetchNextPageError ? load : undefined,
  };
}
