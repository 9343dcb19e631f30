import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { closedFolder } from "../../server/lib/closed-folder.ts";

const clone = join(import.meta.dirname, "../..");
const is_root = process.getuid?.() === 0;

/**
 * Where `npm run asterisk:install` unpacks: `.cache/asterisk` in the clone (git ignores it), or a system
 * folder when root's clone is closed to user nobody, who runs Asterisk then.
 */
export const asterisk_cache =
  is_root && closedFolder(clone) !== null
    ? "/var/cache/trunkline-asterisk"
    : join(clone, ".cache/asterisk");

/** The unpacked Asterisk and sipp: programs with libraries of their own, foreign to the system. */
export type AsteriskFiles = {
  /** The folder that stands for `/` in the packages. */
  readonly root: string;
  readonly modules: string;
  /** The command and its first arguments that run a program of `root`, such as `usr/bin/sipp`. */
  command(program: string): readonly string[];
};

/** The files when they are unpacked, else null. */
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

/** `x86_64-linux-gnu` and its like: the folder is named after the machine. */
function libraryFolder(root: string): string {
  const found = readdirSync(join(root, "usr/lib")).find((name) => name.endsWith("-linux-gnu"));
  if (found === undefined) throw new Error(`${root} holds no libraries: remove it`);
  return found;
}

function findLoader(root: string, libraries: string): string {
  for (const dir of [libraries, join(root, "usr/lib")]) {
    const name = readdirSync(dir).find((each) => /^ld-linux.*\.so\.\d$/.test(each));
    if (name !== undefined) return join(dir, name);
  }
  throw new Error(`${root} holds no program loader: remove it`);
}

/** Whom root's Asterisk runs as: `nobody` of every distribution we know. */
export const nobody = 65_534;

/**
 * The command that runs `words` as an ordinary user and ends it with this process, however that ends.
 */
export function unprivileged(words: readonly string[]): [string, string[]] {
  const dies = ["--pdeathsig", "SIGKILL"];
  if (!is_root) return ["setpriv", [...dies, ...words]];
  const user = [`--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups", "--inh-caps=-all"];
  return ["setpriv", [...user, ...dies, ...words]];
}

/** The version of the unpacked Asterisk, such as `22.10.1`. */
export function asteriskVersion(files: AsteriskFiles): string {
  const [command = "", ...words] = files.command("usr/sbin/asterisk");
  const text = execFileSync(command, [...words, "-V"], { encoding: "utf8" });
  return /Asterisk ([\d.]+)/.exec(text)?.[1] ?? text.trim();
}
