import { createReadStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { finished } from "node:stream/promises";
import pg from "pg";
import {
  freezeAccount,
  lockFreeze,
  unfreezeAccount,
} from "../../accounts/accounts/freeze-account.ts";
import { isFrozen } from "../../accounts/accounts/is-frozen.ts";
import { recordAudit } from "../../accounts/audit/record-audit.ts";
import { operatorOf } from "../../accounts/roles/grantor.ts";
import type { Tx } from "../../lib/database/database.ts";
import { UsageError, type Command, type Outcome, type Words } from "../command.ts";
import { onOneLine } from "../printable.ts";
import { readId, readList } from "../read-words.ts";
import type { Session } from "../session.ts";
import { bindingNotes, type AccountBindings } from "./account-bindings.ts";
import type { ArchiveHeader } from "./archive-records.ts";
import { drainAccount } from "./drain-account.ts";
import { exportAccount } from "./export-account.ts";
import { importAccount, readArchive, verifyArchive } from "./import-account.ts";
import { findImportProblems } from "./import-problems.ts";
import { notesOf } from "./left-behind.ts";
import { extensionNotes, settingsNotes, type OperatorSettings } from "./operator-settings.ts";

const wait_option = {
  value: "seconds",
  about: "How long to wait until calls, sends and jobs in progress have ended; default 300",
} as const;
const standard = "-";

export const moveCommands: readonly Command[] = [
  {
    name: "account freeze",
    summary: "Freeze an account: no writes, sends or new calls; waits for those in progress",
    operands: ["account"],
    options: { wait: wait_option },
    run: async (session, words) => {
      const id = readId("account", words.operands[0]!);
      await freeze(session, id, words);
      return { json: { id, frozen: true }, text: `Account ${id} is frozen and at rest.` };
    },
  },
  {
    name: "account unfreeze",
    summary: "Activate a frozen account, such as an imported one",
    operands: ["account"],
    options: {
      "not-moved": { about: "Of an account that was exported: it was not activated elsewhere" },
    },
    run: unfreeze,
  },
  {
    name: "account export",
    summary: "Write an account to an encrypted file, to move it to another installation",
    operands: ["account", "file"],
    options: {
      freeze: { about: "Freeze it first; the file of an active account is for --dry-run only" },
      wait: wait_option,
    },
    run: runExport,
  },
  {
    name: "account import",
    summary: "Store an exported account, frozen; all of it or nothing",
    operands: ["file"],
    options: {
      nodes: { value: "list", about: "The nodes here that take the place of its nodes: 3=1,4=1" },
      trunks: { value: "list", about: "The same for its trunks" },
      operator: { about: "Keep its feature operator, for those who run this installation" },
      "dry-run": { about: "Store nothing; report every problem, and check the whole file" },
    },
    run: runImport,
  },
];

/** Freezes an account, waits until it is at rest, and returns since when it is frozen. */
async function freeze(session: Session, id: number, words: Words): Promise<Date> {
  const wait_text = words.option("wait") ?? "300";
  if (!/^[0-9]{1,6}$/.test(wait_text)) throw new UsageError("--wait must be a number of seconds");
  const frozen_at = await session.change(id, (tx, { actor }) =>
    freezeAccount(tx, actor, session.now()),
  );
  const db = await session.database();
  const wait_ms = Number(wait_text) * 1_000;
  await drainAccount(db, id, { frozen_at, now: session.now(), wait_ms });
  return frozen_at;
}

async function unfreeze(session: Session, words: Words): Promise<Outcome> {
  const id = readId("account", words.operands[0]!);
  const changed = await session.change(id, async (tx, { actor }) => {
    const frozen_at = await lockFreeze(tx, id);
    if (!words.flag("not-moved") && frozen_at && (await wasExported(tx, id)))
      throw new Error(
        `Account ${id} was exported since it was frozen. If it was activated elsewhere, both would send: only if it was not, add --not-moved`,
      );
    return unfreezeAccount(tx, actor, session.now());
  });
  const text = changed ? `Account ${id} is active.` : `Account ${id} was not frozen.`;
  return { json: { id, frozen: false }, text };
}

/** Returns whether a frozen account was exported since it was frozen, or imported, here. */
async function wasExported(tx: Tx, id: number): Promise<boolean> {
  // An imported account brings its exports from elsewhere. By ID, because the clocks of two installations may differ.
  const newest = await tx
    .selectFrom("audit_entries")
    .select("action")
    .where("account_id", "=", id)
    .where("action", "in", ["account.frozen", "account.exported", "account.imported"])
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return newest?.action === "account.exported";
}

async function runExport(session: Session, words: Words): Promise<Outcome> {
  const id = readId("account", words.operands[0]!);
  const file = words.operands[1]!;
  const passphrase = passphraseOf(session);
  await session.account(id);
  const db = await session.database();
  const client = new pg.Client({
    connectionString: await session.databaseUrl(),
    application_name: "trunkline-cli",
  });
  // A lost connection also fails the query in progress.
  client.on("error", () => {});
  const output = file === standard ? process.stdout : await newFile(file);
  try {
    const frozen = words.flag("freeze") || (await isFrozen(db.query, id));
    const frozen_at = frozen ? await freeze(session, id, words) : null;
    await client.connect();
    const now = session.now();
    const secrets = session.secrets();
    await recordExport(session, id, frozen);
    const to = { account_id: id, now, frozen_at, secrets, passphrase, output };
    const header = await exportAccount(client, to);
    const notes = await notesOf(client, header);
    const text = linesOf([...describe(header), `Written to ${file}.`, ...notes]);
    return { json: { ...summary(header), notes }, text, aside: file === standard };
  } catch (error) {
    if (file !== standard) {
      output.destroy();
      await rm(file, { force: true });
    }
    throw error;
  } finally {
    await client.end();
  }
}

/** A new file that only this user reads; fails if the file exists. */
async function newFile(file: string) {
  const handle = await open(file, "wx", 0o600).catch((error: unknown) => {
    throw new UsageError(`cannot create the file: ${(error as Error).message}`);
  });
  return handle.createWriteStream({ flush: true });
}

/**
 * Records an export before its first byte, which may be imported at once. From then on, the account is not unfrozen
 * without --not-moved, even if the export fails.
 */
async function recordExport(session: Session, id: number, frozen: boolean): Promise<void> {
  const { actor } = operatorOf(id, session.request_id);
  const db = await session.database();
  const entry = {
    at: session.now(),
    action: "account.exported",
    subject_id: id,
    detail: { frozen },
  } as const;
  await db.query.transaction().execute(async (tx) => {
    // Waits for the end of an `account unfreeze` that has not seen this entry.
    await lockFreeze(tx, id);
    await recordAudit(tx, actor, entry);
  });
}

async function runImport(session: Session, words: Words): Promise<Outcome> {
  const file = words.operands[0]!;
  const places = { nodes: readPlaces(words, "nodes"), trunks: readPlaces(words, "trunks") };
  const keeps_operator = words.flag("operator");
  const passphrase = passphraseOf(session);
  const db = await session.migratedDatabase();
  const source = file === standard ? process.stdin : createReadStream(file);
  const closed = finished(source).catch(() => {});
  try {
    const archive = await readArchive(source, passphrase);
    const { header } = archive;
    const { account_id } = header;
    if (words.flag("dry-run")) {
      const problems = await findImportProblems(db.pool, header, places);
      await verifyArchive(archive).catch(
        (error: unknown) => void problems.push((error as Error).message),
      );
      const as = { keeps_operator, stored: false };
      // Files of earlier versions have neither.
      const settings = header.operator_settings as OperatorSettings | undefined;
      const bindings = header.bindings as AccountBindings | undefined;
      const notes = [
        ...(settings ? settingsNotes(account_id, settings, as) : []),
        ...(bindings ? bindingNotes(bindings) : []),
      ];
      const text = linesOf([...describe(header), ...notes, ...problemText(problems)]);
      return { json: { ...summary(header), problems, notes }, text, bad: problems.length > 0 };
    }
    const { actor } = operatorOf(account_id, session.request_id);
    const secrets = session.secrets();
    const given = { archive, places, keeps_operator, secrets, actor, now: session.now() };
    const { settings, bindings, extensions } = await importAccount(db, given);
    const notes = [
      ...settingsNotes(account_id, settings, { keeps_operator, stored: true }),
      ...extensionNotes(extensions),
      ...bindingNotes(bindings),
    ];
    const next = `It is frozen; check it, and then activate it: trunkline account unfreeze ${account_id}`;
    const text = linesOf([...describe(header), "Stored.", ...notes, next]);
    return { json: { ...summary(header), notes }, text };
  } finally {
    source.destroy();
    await closed;
  }
}

/** Names in them, also of a file, add no lines. */
const linesOf = (lines: readonly string[]): string => lines.map(onOneLine).join("\n");

function problemText(problems: readonly string[]): string[] {
  if (problems.length === 0)
    return ["The file is complete, and nothing stands against its import."];
  return [`${problems.length} problems:`, ...problems.map((problem) => `  - ${problem}`)];
}

function passphraseOf(session: Session): string {
  const { export_passphrase } = session.config();
  if (export_passphrase) return export_passphrase;
  throw new UsageError(
    "Set TRUNKLINE_EXPORT_PASSPHRASE: the file contains secrets, and the same passphrase opens it",
  );
}

/** Reads 3=1,4=1. */
function readPlaces(words: Words, option: "nodes" | "trunks"): Map<number, number> {
  return new Map(
    readList(words.option(option) ?? "").map((pair) => {
      const [from, to, more] = pair.split("=");
      if (to === undefined || more !== undefined)
        throw new UsageError(`--${option}: "${pair}" must have the form 3=1`);
      return [readId(option, from!), readId(option, to)];
    }),
  );
}

function summary(header: ArchiveHeader) {
  const { account_id, account_name, exported_at, frozen, product_version, schema } = header;
  const tables = Object.fromEntries(header.tables.map(({ name, rows }) => [name, rows]));
  return { account_id, account_name, exported_at, frozen, product_version, schema, tables };
}

function describe(header: ArchiveHeader): string[] {
  const rows = header.tables.reduce((sum, table) => sum + table.rows, 0);
  return [
    `Account ${header.account_id} "${header.account_name}" of ${header.exported_at}, version ${header.product_version}, schema ${header.schema}: ${rows} rows in ${header.tables.length} tables.`,
  ];
}
