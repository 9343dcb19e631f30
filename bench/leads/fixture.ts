// One service with the same rows for every contender.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import type { Demo } from "../../server/seed-demo/demo-file.ts";
import type { ServiceProcess } from "../../test/support/service-process.ts";

export type Fixture = {
  readonly service: ServiceProcess;
  readonly database_url: string;
  readonly db: pg.Client;
  readonly token: string;
  /** The path of lead creation. */
  readonly path: string;
  readonly custom_field_key: string;
  /** The number of seeded contacts, from 9000000001 on. */
  readonly known: number;
  /** The variables of the pgbench scripts. */
  readonly variables: Readonly<Record<string, number>>;
};

/** Reads the service's demo data and adds `known` contacts, each with a lead. */
export async function openFixture(
  service: ServiceProcess,
  database_url: string,
  known: number,
): Promise<Fixture> {
  const db = new pg.Client({ connectionString: database_url });
  await db.connect();
  const demo = JSON.parse(await readFile(join(service.data_dir, "demo.json"), "utf8")) as Demo;
  const token = demo.tokens["account"] ?? "";
  const account = Number(token.split("_")[1]);
  const { rows } = await db.query<Record<string, number>>(facts, [account, demo.workspace_id]);
  const variables = { account, workspace: demo.workspace_id, known, ...rows[0] };
  await db.query(`begin; ${volume(variables, known)}; commit`);
  await db.query("vacuum analyze");
  return {
    service,
    database_url,
    db,
    token,
    path: `/api/v1/crm/workspaces/${demo.workspace_id}/leads/create`,
    custom_field_key: demo.custom_field_key,
    known,
    variables,
  };
}

const facts = `
  select w.schema_version::int as version, u.id::int as user, s.id::int as status, p.id::int as priority
  from workspaces w
  join users u on u.account_id = w.account_id and u.is_owner
  join picklist_options s on s.account_id = w.account_id and s.workspace_id = w.id
    and s.picklist = 'status' and s.is_default
  join picklist_options p on p.account_id = w.account_id and p.workspace_id = w.id
    and p.picklist = 'priority' and p.is_default
  where w.account_id = $1 and w.id = $2`;

function volume(v: Readonly<Record<string, number>>, known: number): string {
  return `
  insert into contacts
    (account_id, workspace_id, phone, phone_e164, name, created_at, updated_at)
  select ${v["account"]}, ${v["workspace"]}, p::text, '+91' || p, 'Contact ' || p % 1000, now(), now()
  from generate_series(9000000001, ${9_000_000_000 + known}) p
  on conflict do nothing;
  insert into leads (account_id, workspace_id, contact_id, name, email, phone, phone_e164,
    status_id, priority_id, custom_fields, created_by, created_at, updated_at)
  select account_id, workspace_id, id, name, 'contact@example.com', phone, phone_e164,
    ${v["status"]}, ${v["priority"]}, '{}', ${v["user"]}, now(), now()
  from contacts where account_id = ${v["account"]} and workspace_id = ${v["workspace"]};
  insert into lead_timeline (account_id, lead_id, kind, at, user_id, data)
  select account_id, id, 'created', created_at, created_by, '{}' from leads;
  insert into events (account_id, type, occurred_at, data)
  select account_id, 'lead.created', created_at, json_build_object('id', id) from leads`;
}
