// `npm run lock`, after every change of dependencies. If the registry lacks an optional package of another platform,
// npm omits it from package-lock.json and then refuses that lockfile (`npm ci`: "Missing … from lock file"). This
// adds the missing entries, which name their platform, so that npm does not request them elsewhere.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

type Entry = {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};
type Lockfile = { readonly packages: Record<string, Entry> };

const systems = /android|darwin|freebsd|linux|openharmony|win32|wasm32/;
const processors = /\b(?:arm64|arm|x64|ia32|ppc64|riscv64|s390x|loong64|wasm32)\b/;
const libraries = { gnu: "glibc", gnueabihf: "glibc", musl: "musl", musleabihf: "musl" } as const;

for (const directory of process.argv.length > 2 ? process.argv.slice(2) : ["."]) {
  const file = join(directory, "package-lock.json");
  const lockfile = JSON.parse(readFileSync(file, "utf8")) as Lockfile;
  const added = missingEntries(lockfile);
  if (added.length > 0) {
    const packages = Object.entries(lockfile.packages).concat(added);
    packages.sort(([a], [b]) => a.localeCompare(b, "en"));
    const complete = { ...lockfile, packages: Object.fromEntries(packages) };
    writeFileSync(file, `${JSON.stringify(complete, null, 2)}\n`);
  }
  console.log(`${file}: ${added.length} entries added`);
}

/** Returns an entry for each exact optional dependency of a platform that has none. */
function missingEntries({ packages }: Lockfile): [string, Entry][] {
  return Object.values(packages).flatMap(({ optionalDependencies = {}, dev }) =>
    Object.entries(optionalDependencies)
      .filter(([name, version]) => !packages[`node_modules/${name}`] && /^\d/.test(version))
      .flatMap(([name, version]): [string, Entry][] => {
        const platform = platformOf(name);
        if (platform === null) return [];
        const { cpu, libc, os } = platform;
        // In npm's own key order, so that its next install changes nothing.
        const entry = {
          version,
          cpu,
          ...(dev === true && { dev }),
          ...(libc && { libc }),
          optional: true,
          ...(os && { os }),
        };
        return [[`node_modules/${name}`, entry]];
      }),
  );
}

/** `@oxlint/binding-linux-arm64-musl` is for Linux on arm64 with musl. */
function platformOf(name: string): { cpu: string[]; libc?: string[]; os?: string[] } | null {
  const target = name.slice(name.lastIndexOf("/") + 1);
  const system = systems.exec(target)?.[0];
  const processor = processors.exec(target)?.[0];
  if (system === undefined || processor === undefined) return null;
  const suffix = target.slice(target.lastIndexOf("-") + 1);
  const libc = Object.entries(libraries).find(([abi]) => abi === suffix)?.[1];
  return {
    cpu: [processor],
    ...(libc !== undefined && system === "linux" && { libc: [libc] }),
    ...(system !== "wasm32" && { os: [system] }),
  };
}
