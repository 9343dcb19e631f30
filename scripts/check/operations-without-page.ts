/** Operations that the console does not use, by the reason. */
export const operations_without_page: readonly {
  readonly reason: string;
  readonly operations: readonly string[];
}[] = [];
