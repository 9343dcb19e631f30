import { access, constants, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** Files that hold a secret, wherever they are found in the folder. */
const secret_files = ["demo.json", "postgres-password"];

/** That the data folder can be written and shows its secrets to nobody else; else an Error that says what to do. */
export async function checkDataDir(dir: string): Promise<string> {
  const files = await readdir(dir).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  });
  if (files === null) return `${dir} does not exist yet; the server makes it`;
  await access(dir, constants.R_OK | constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw new Error(`${dir} cannot be written by this user`, { cause: error });
  });
  for (const file of secret_files.filter((name) => files.includes(name))) {
    const { mode } = await stat(join(dir, file));
    if ((mode & 0o077) !== 0)
      throw new Error(
        `${join(dir, file)} can be read by others; run: chmod 600 ${join(dir, file)}`,
      );
  }
  return `${dir} can be written, and its secrets are read by this user alone`;
}
