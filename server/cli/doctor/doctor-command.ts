// Checks an installation for common problems and changes nothing.
import { access, constants } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import type { Config } from "../../config.ts";
import { pendingMigrations } from "../../lib/database/migrate.ts";
import { openReadReplica } from "../../lib/database/read-replica.ts";
import { requireSessions } from "../../lib/database/require-sessions.ts";
import { openLog } from "../../lib/log.ts";
import { findClosedSecrets } from "../../lib/secrets/stored-secrets.ts";
import { proxyProblem } from "../../api/proxy-problem.ts";
import { checkCollector } from "./check-collector.ts";
import { checkDataDir } from "./check-data-dir.ts";
import { checkDisks, checkPort, checkSynchronization } from "./check-machine.ts";
import type { Command } from "../command.ts";
import { databaseExists } from "../find-database.ts";
import { onOneLine } from "../printable.ts";
import type { Session } from "../session.ts";

/** The result of one check; `detail` says what was found, or what to do. */
export type Finding = { readonly check: string; readonly ok: boolean; readonly detail: string };

export const doctorCommand: Command = {
  name: "doctor",
  summary: "Check the configuration, the database and the data folder",
  run: async (session) => {
    const findings = await examine(session);
    const bad = findings.some(({ ok }) => !ok);
    const text = findings
      .map(({ check, ok, detail }) => `${ok ? "ok    " : "FAILED"}  ${check}: ${detail}`)
      .join("\n");
    return { json: { ok: !bad, findings }, text, bad };
  },
};

async function examine(session: Session): Promise<Finding[]> {
  const config = await attempt("configuration", async () => session.config());
  if ("finding" in config) return [config.finding];
  const findings = [
    finding("configuration", true, whereOf(config.found)),
    await findingOf("data folder", () => checkDataDir(config.found.data_dir)),
    await findingOf("disks", () => checkDisks(config.found)),
    await findingOf("port", () => checkPort(config.found)),
    await findingOf("proxy", async () => findProxy(config.found)),
    await findingOf("synchronization", () => checkSynchronization()),
    await findingOf("traces", () => checkCollector(config.found)),
  ];
  if (!databaseExists(config.found))
    return [...findings, finding("database", false, "does not exist yet; run: trunkline migrate")];
  for (const check of database_checks) {
    const result = await findingOf(check.name, () => check.run(session));
    findings.push(result);
    if (!result.ok && check.needed) break;
  }
  return findings;
}

function findProxy(config: Config): string {
  const problem = proxyProblem(config);
  if (problem !== null) throw new Error(problem);
  return "a proxy is trusted, or none is needed";
}

function whereOf({ database_url, data_dir }: Config): string {
  return database_url === null
    ? `embedded database in ${data_dir}`
    : `database at ${new URL(database_url).host || "a local socket"}`;
}

/** A check that returns what is in order as a sentence, or throws an Error that says what is not. */
type Check = {
  readonly name: string;
  readonly run: (session: Session) => Promise<string>;
  /** The checks below cannot run when this one fails. */
  readonly needed?: true;
};

const database_checks: readonly Check[] = [
  { name: "database", run: reach, needed: true },
  { name: "clocks", run: compareClocks },
  { name: "migrations", run: compareSchema, needed: true },
  { name: "restored database", run: findUnconfirmed },
  { name: "read replica", run: followReplica },
  { name: "owners", run: findOwnerless },
  { name: "workspaces", run: findWithoutDefaults },
  { name: "secrets", run: openSecretsStored },
  { name: "chat numbers", run: findWithoutCredentials },
  { name: "voice nodes", run: findFaultyNodes },
  { name: "realtime models", run: findRefusedModels },
];

async function reach(session: Session): Promise<string> {
  const db = await session.database();
  const { rows } = await db.pool.query<{ version: string; number: number }>(
    "select current_setting('server_version') as version, current_setting('server_version_num')::int as number",
  );
  const { version, number } = rows[0]!;
  if (number < 150_000) throw new Error(`PostgreSQL 15 or newer is needed; this is ${version}`);
  await requireSessions(await session.databaseUrl());
  return `PostgreSQL ${version} is reachable`;
}

/** Leases use the database's clock and business time uses ours, so the two must agree. */
const skew_max_ms = 2_000;

async function compareClocks(session: Session): Promise<string> {
  const db = await session.database();
  const asked_ms = session.now().getTime();
  const { rows } = await db.pool.query<{ now: Date }>("select clock_timestamp() as now");
  const answered_ms = session.now().getTime();
  const theirs_ms = rows[0]!.now.getTime();
  // The database read its clock between our two readings; only a difference beyond them is skew.
  const skew_ms = Math.max(asked_ms - theirs_ms, theirs_ms - answered_ms, 0);
  if (skew_ms > skew_max_ms)
    throw new Error(
      `the clocks of this machine and the database differ by ${skew_ms} ms; synchronize them (NTP)`,
    );
  return "the clocks of this machine and the database agree";
}

async function compareSchema(session: Session): Promise<string> {
  const db = await session.database();
  const pending = await pendingMigrations(db.pool).catch(() => ["all"]);
  if (pending.length > 0)
    throw new Error(`not applied: ${pending.join(", ")}; run: trunkline migrate`);
  return "the schema is up to date";
}

async function findUnconfirmed(session: Session): Promise<string> {
  const { query } = await session.database();
  const known = await query.selectFrom("database_identity").select("changed_at").executeTakeFirst();
  if ((known?.changed_at ?? null) === null) return "no operator has to decide";
  throw new Error(
    "the database was restored or failed over, and the workers wait; run: trunkline restored (see docs/guides/operation.md)",
  );
}

/** Waits for as long as the replica may lag. */
async function followReplica(session: Session): Promise<string> {
  const settings = session.config().replica;
  if (settings === null) return "none is configured";
  const { url, staleness_seconds: seconds } = settings;
  const log = openLog("silent", { readable: false });
  const replica = openReadReplica(await session.database(), url, seconds * 1_000, log);
  try {
    const deadline_ms = performance.now() + seconds * 1_000;
    while (replica.problem() !== null && performance.now() < deadline_ms) await wait(100);
    const problem = replica.problem();
    if (problem !== null) throw new Error(`reads use the primary: ${problem}`);
    return `it is at most ${seconds} s behind the primary`;
  } finally {
    await replica.close();
  }
}

async function findOwnerless(session: Session): Promise<string> {
  const db = await session.database();
  const { rows } = await db.pool.query<{ account_id: number }>(
    `select a.account_id from accounts a
     where not exists (select from users u
       where u.account_id = a.account_id and u.is_owner and u.active)
     order by a.account_id`,
  );
  if (rows.length === 0) return "every account has an active owner";
  throw new Error(
    `accounts without an active owner: ${rows.map(({ account_id }) => account_id).join(", ")}`,
  );
}

async function findWithoutDefaults(session: Session): Promise<string> {
  const db = await session.database();
  const { rows } = await db.pool.query<{ account_id: number; id: number; picklist: string }>(
    `select w.account_id, w.id, needed.picklist
     from workspaces w cross join (values ('status'), ('priority')) needed(picklist)
     where not exists (select from picklist_options o
       where o.account_id = w.account_id and o.workspace_id = w.id
         and o.picklist = needed.picklist and o.is_default)
     order by w.account_id, w.id`,
  );
  if (rows.length === 0) return "every workspace has a default status and priority";
  const listed = rows.map(
    ({ account_id, id, picklist }) => `workspace ${id} of account ${account_id} (${picklist})`,
  );
  throw new Error(`no default in ${listed.join(", ")}`);
}

/** Opens every stored secret: a key may be missing, or a value may have been changed. */
async function openSecretsStored(session: Session): Promise<string> {
  const problems = await findClosedSecrets(await session.database(), session.secrets());
  if (problems.length > 0) throw new Error(problems.join("; "));
  return "the keys open every stored secret";
}

/** Reports active WhatsApp numbers that no process with this configuration can send from. */
async function findWithoutCredentials(session: Session): Promise<string> {
  const db = await session.database();
  if (session.config().whatsapp !== null)
    return "the installation's credential serves every number";
  const { rows } = await db.pool.query<{ account_id: number; phone: string }>(
    `select n.account_id, n.phone from chat_numbers n
     where n.driver = 'whatsapp' and n.active and not exists (
       select from whatsapp_credentials w where w.account_id = n.account_id)
     order by n.account_id, n.id limit 20`,
  );
  if (rows.length === 0) return "every WhatsApp number has a credential";
  const listed = rows.map(({ account_id, phone }) => `${phone} of account ${account_id}`);
  throw new Error(
    `no WhatsApp credential for ${listed.join(", ")}; set WHATSAPP_ACCESS_TOKEN, or run: trunkline whatsapp credential set`,
  );
}

type Asterisk = {
  readonly id: number;
  readonly name: string;
  readonly ari_url: string;
  readonly sounds_dir: string | null;
  readonly connected: boolean;
};

/**
 * Reports each Asterisk that is not connected, so its calls wait, and each whose sounds folder is not
 * writable from here, so its campaign calls fail. Sandbox nodes are always in order.
 */
async function findFaultyNodes(session: Session): Promise<string> {
  const db = await session.database();
  const { rows } = await db.pool.query<Asterisk>(
    `select id, name, ari_url, sounds_dir, connected_at is not null as connected from voice_nodes
     where active and driver = 'asterisk' order by id`,
  );
  const disconnected = rows
    .filter(({ connected }) => !connected)
    .map(({ id, name, ari_url }) => `${id} (${name}, ${ari_url})`);
  const problems =
    disconnected.length === 0
      ? []
      : [`not connected: ${disconnected.join(", ")}; see the service's log`];
  for (const { id, name, sounds_dir } of rows) {
    if (sounds_dir !== null && !(await isWritable(sounds_dir)))
      problems.push(
        `${sounds_dir}, the sounds folder of ${id} (${name}), is not writable from here`,
      );
  }
  if (problems.length > 0) throw new Error(problems.join("; "));
  return "every active Asterisk is connected";
}

type AskedModel = { readonly model: string | null; readonly voice: string | null };

/** Asks the realtime server for the default model and for those of all AI agents, each voice once. */
async function findRefusedModels(session: Session): Promise<string> {
  const driver = session.realtime();
  if (!driver?.checkModel) return "no realtime server is configured";
  const db = await session.database();
  const { rows } = await db.pool.query<AskedModel>(
    `select null as model, null as voice
     union
     select plan ->> 'model', plan ->> 'voice' from voice_ai_agents where plan ->> 'driver' = 'realtime'
     order by model nulls first, voice nulls first limit 20`,
  );
  const problems: string[] = [];
  for (const { model, voice } of rows) {
    const check = await driver.checkModel({ model, voice, language: "en" });
    if (check.outcome === "accepted") continue;
    const name = [model ?? "the default model", ...(voice === null ? [] : [voice])].join(" with ");
    const problem =
      check.outcome === "refused" ? `the server refuses the ${check.part}` : "no answer";
    problems.push(`${onOneLine(name)}: ${problem} (${check.code})`);
  }
  if (problems.length > 0) throw new Error(problems.join("; "));
  return "the realtime server accepts every model in use";
}

function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function findingOf(check: string, run: () => Promise<string>): Promise<Finding> {
  const attempted = await attempt(check, run);
  return "finding" in attempted ? attempted.finding : finding(check, true, attempted.found);
}

async function attempt<T>(
  check: string,
  run: () => Promise<T>,
): Promise<{ found: T } | { finding: Finding }> {
  try {
    return { found: await run() };
  } catch (error) {
    const { message, code } = error as { message?: string; code?: string };
    return { finding: finding(check, false, message || code || String(error)) };
  }
}

function finding(check: string, ok: boolean, detail: string): Finding {
  return { check, ok, detail };
}
