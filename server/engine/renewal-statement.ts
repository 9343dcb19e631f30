import type { Pool, QueryConfig } from "pg";

/** A statement about one lease that must be answered in time: whether it still found ours. */
export function renewalStatement(text: string) {
  return async (pool: Pool, values: unknown[], within_ms: number): Promise<boolean> => {
    // pg takes a time-out with each query; its types do not know.
    const query: QueryConfig & { query_timeout: number } = {
      text,
      values,
      query_timeout: Math.ceil(within_ms),
    };
    return (await pool.query(query)).rowCount === 1;
  };
}
