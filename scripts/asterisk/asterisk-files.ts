import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { closedFolder } from "../../server/lib/closed-folder.ts";

const clone = join(import.meta.dirname, "../..");
const is_root = process.getuid?.() === 0;

/**
 * Where `npm run asterisk:install` unpacks: `.cache/asterisk` in the clone (ignored by git), or a system folder if
 * root's clone is closed to the user nobody, which then runs Asterisk.
 */
export const asterisk_cache =
  is_root && closedFolder(clone) !== null
    ? "/var/cache/trunkline-asterisk"
    : join(clone, ".cache/asterisk");

/** The unpacked Asterisk and sipp, with their own libraries. */
export type AsteriskFiles = {
  /** The folder that the packages were unpacked to. */
  readonly root: string;
  readonly modules: string;
  /** Returns the command and first arguments that run a program of `root`, such as `usr/bin/sipp`. */
  command(program: string): readonly string[];
};

/** Returns the unpacked files, or null. */
export function findAsteriskFiles(cache = asterisk_cache): AsteriskFiles | null {
  const root = join(cache, "root");
  if (!existsSync(root)) return null;
  const libraries = join(root, "usr/lib", libraryFolder(root));
  const loader = findLoader(root, libraries);
  const path = `${libraries}:${join(libraries, "asterisk")}`;
  return {
    root,
    modules: join(libraries, "asterisk/modules"),
    command: (program) => [loader, "--library-path", path, join(root, program)],
  };
}

/** Returns the library folder, which is named after the platform, such as `x86_64-linux-gnu`. */
function libraryFolder(root: string): string {
  const found = readdirSync(join(root, "usr/lib")).find((name) => name.endsWith("-linux-gnu"));
  if (found === undefined)
    throw new Error(`${root} contains no libraries; remove it and install again`);
  return found;
}

function findLoader(root: string, libraries: string): string {
  for (const dir of [libraries, join(root, "usr/lib")]) {
    const name = readdirSync(dir).find((each) => /^ld-linux.*\.so\.\d$/.test(each));
    if (name !== undefined) return join(dir, name);
  }
  throw new Error(`${root} contains no program loader; remove it and install again`);
}

/** The user of root's Asterisk: `nobody` on every known distribution. */
export const nobody = 65_534;

/** Returns the command that runs `words` as an ordinary user and ends it together with this process. */
export function unprivileged(words: readonly string[]): [string, string[]] {
  const dies = ["--pdeathsig", "SIGKILL"];
  if (!is_root) return ["setpriv", [...dies, ...words]];
  const user = [`--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups", "--inh-caps=-all"];
  return ["setpriv", [...user, ...dies, ...words]];
}

/** Returns the version of the unpacked Asterisk, such as `22.10.1`. */
export function asteriskVersion(files: AsteriskFiles): string {
  const [command = "", ...words] = files.command("usr/sbin/asterisk");
  const text = execFileSync(command, [...words, "-V"], { encoding: "utf8" });
  return /Asterisk ([\d.]+)/.exec(text)?.[1] ?? text.trim();
}
