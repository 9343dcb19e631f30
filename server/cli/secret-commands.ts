import { chmod, chown, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { newSecretKey, secretKeySource } from "../lib/secrets/secret-keys.ts";
import {
  countStoredSecrets,
  requireKeys,
  sealStoredSecrets,
} from "../lib/secrets/stored-secrets.ts";
import type { Command, Outcome, Words } from "./command.ts";
import type { Session } from "./session.ts";
import { textTable } from "./text-table.ts";

export const secretCommands: readonly Command[] = [
  {
    name: "secrets rotate",
    summary: "Seal all stored secrets with the first of the keys; the service may run",
    options: {
      "new-key": {
        about:
          "First add a new key in front of the keys in the key file, if no other machine has one",
      },
    },
    run: rotate,
  },
];

async function rotate(session: Session, words: Words): Promise<Outcome> {
  const db = await session.migratedDatabase();
  if (words.flag("new-key")) await addKey(session);
  const secrets = session.secrets();
  await requireKeys(db, secrets);
  const resealed = await sealStoredSecrets(db, secrets, { reseal: true });
  const key = secrets.currentKey();
  const stored = await countStoredSecrets(db);
  const text = [
    `${resealed} secrets are now sealed with the key ${key}. Stored secrets:`,
    textTable(stored, ["column", "key", "count"]),
    resealed === 0
      ? "No other key is in use. Former keys can be removed once every process has the new key."
      : "Run this again until it seals none, and then remove the former keys.",
  ].join("\n");
  return { json: { key, resealed, stored }, text };
}

/** Replaces the file in one step, so that a running service never reads a part of it, and can still read it. */
async function addKey(session: Session): Promise<void> {
  const source = secretKeySource(session.config());
  if (!("file" in source)) {
    throw new Error(
      "--new-key needs a key file; add the new key in front of those in TRUNKLINE_SECRET_KEY instead",
    );
  }
  const draft = `${source.file}.new`;
  const text = `${newSecretKey()}\n${await readFile(source.file, "utf8")}`;
  const { uid, gid, mode } = await stat(source.file);
  try {
    await writeFile(draft, text, { mode: 0o600, flush: true });
    await chown(draft, uid, gid);
    await chmod(draft, mode);
    await rename(draft, source.file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
