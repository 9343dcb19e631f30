import { access, constants, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { key_file } from "../../lib/secrets/secret-keys.ts";

/** Files with secrets that may be in the data folder. */
const secret_files = ["demo.json", "postgres-password", key_file];

/** Checks that the data folder is writable and that only this user can read its secrets; throws an Error that says what to do. */
export async function checkDataDir(dir: string): Promise<string> {
  const files = await readdir(dir).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  });
  if (files === null) return `${dir} does not exist yet; the server creates it`;
  await access(dir, constants.R_OK | constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw new Error(`${dir} is not writable by this user`, { cause: error });
  });
  for (const file of secret_files.filter((name) => files.includes(name))) {
    const { mode } = await stat(join(dir, file));
    if ((mode & 0o077) !== 0)
      throw new Error(`other users can read ${join(dir, file)}; run: chmod 600 ${join(dir, file)}`);
  }
  return `${dir} is writable, and only this user can read its secrets`;
}
