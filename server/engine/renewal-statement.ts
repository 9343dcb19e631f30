import type { Pool, QueryConfig } from "pg";

/** Prepares a statement on one lease with a query time-out; it resolves with whether the lease was still ours. */
export function renewalStatement(text: string) {
  return async (pool: Pool, values: unknown[], within_ms: number): Promise<boolean> => {
    // pg accepts a time-out for each query; its types do not declare it.
    const query: QueryConfig & { query_timeout: number } = {
      text,
      values,
      query_timeout: Math.ceil(within_ms),
    };
    return (await pool.query(query)).rowCount === 1;
  };
}
