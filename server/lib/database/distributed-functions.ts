// The SQL functions as a distributed database needs them.
import type pg from "pg";

/** Runs on the node of the account, also when another function calls it. */
const delegated =
  "create_leads_on_node(bigint, json, timestamptz, bigint[], bigint[], bigint[], bigint[])";

const distributed = `
  select to_regclass('pg_catalog.pg_dist_partition') is not null as has_citus`;

/** Returns whether `trunkline distribute` has distributed the accounts of this database. */
export async function isDistributed(client: Pick<pg.ClientBase, "query">): Promise<boolean> {
  const { rows } = await client.query<{ has_citus: boolean }>(distributed);
  if (!rows[0]!.has_citus) return false;
  const found = await client.query(
    "select from pg_dist_partition where logicalrelid = to_regclass('accounts')",
  );
  return found.rows.length > 0;
}

/** Lists the functions that keep a generic plan (on Citus, such a plan asks every shard), and those that the workers lack. */
export async function undistributedFunctions(
  client: Pick<pg.ClientBase, "query">,
): Promise<{ with_generic_plan: string[]; without_copies: string[] }> {
  const { rows } = await client.query<Fn>(
    `select p.oid::regprocedure::text as signature,
       coalesce(p.proconfig && array['plan_cache_mode=force_generic_plan'], false) as has_generic_plan,
       o.objid is not null as has_copies
     from pg_proc p
     left join pg_dist_object o on o.classid = 'pg_proc'::regclass and o.objid = p.oid
     where p.pronamespace = current_schema()::regnamespace and not exists (
       select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
     order by 1`,
  );
  const signatures = (found: readonly Fn[]) => found.map(({ signature }) => signature);
  return {
    with_generic_plan: signatures(rows.filter((fn) => fn.has_generic_plan)),
    without_copies: signatures(rows.filter((fn) => !fn.has_copies)),
  };
}

type Fn = { signature: string; has_generic_plan: boolean; has_copies: boolean };

/**
 * Drops the functions with a parameter of a reference table's row type: Citus makes the table its own shard, whose type the
 * parameter has then, and a new table takes its name. The caller defines them again.
 */
export async function dropFunctionsOfShards(
  client: Pick<pg.ClientBase, "query">,
  tables: readonly string[],
): Promise<number> {
  const { rows } = await client.query<{ signature: string }>(
    `select p.oid::regprocedure::text as signature from pg_proc p
     where p.pronamespace = current_schema()::regnamespace and exists (
       select from unnest(p.proargtypes::oid[] || p.prorettype) a (type)
       join pg_type t on t.oid = a.type
       join pg_class c on c.oid = t.typrelid and c.relkind = 'r'
       where c.relname <> all ($1))`,
    [tables],
  );
  for (const { signature } of rows) await client.query(`drop function ${signature}`);
  return rows.length;
}

/**
 * Defines the functions that have another body on distributed databases, copies all to the workers, and lets them be planned
 * for each account.
 */
export async function distributeFunctions(
  client: Pick<pg.ClientBase, "query">,
  functions: readonly { readonly distributed_sql: string | null }[],
): Promise<void> {
  for (const { distributed_sql } of functions)
    if (distributed_sql !== null) await client.query(distributed_sql);
  const { with_generic_plan, without_copies } = await undistributedFunctions(client);
  for (const signature of without_copies)
    await client.query("select create_distributed_function($1::text::regprocedure)", [signature]);
  for (const signature of with_generic_plan)
    await client.query(`alter function ${signature} reset plan_cache_mode`);
  await client.query(
    `select create_distributed_function($1::text::regprocedure, '$1', colocate_with => 'accounts',
       force_delegation => true)`,
    [delegated],
  );
}
