import { execFileSync } from "node:child_process";
import { constants, existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/** Where `npm run asterisk:install` unpacks; git does not see it. */
export const asterisk_cache = join(import.meta.dirname, "../../.cache/asterisk");

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
 * The command that runs `words` as an ordinary user and lets it die with this process, however that
 * ends. Throws when this process is root and `folder` is closed to others.
 */
export function unprivileged(words: readonly string[], folder: string): [string, string[]] {
  const dies = ["--pdeathsig", "SIGKILL"];
  if (process.getuid?.() !== 0) return ["setpriv", [...dies, ...words]];
  for (let dir = folder; ; dir = dirname(dir)) {
    if ((statSync(dir).mode & constants.S_IXOTH) === 0) {
      throw new Error(`${dir} is closed to others, so that user nobody cannot run what is in it`);
    }
    if (dir === dirname(dir)) break;
  }
  const user = [`--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups", "--inh-caps=-all"];
  return ["setpriv", [...user, ...dies, ...words]];
}

/** The version of the unpacked Asterisk, such as `22.10.1`. */
export function asteriskVersion(files: AsteriskFiles): string {
  const [command = "", ...words] = files.command("usr/sbin/asterisk");
  const text = execFileSync(command, [...words, "-V"], { encoding: "utf8" });
  return /Asterisk ([\d.]+)/.exec(text)?.[1] ?? text.trim();
}
