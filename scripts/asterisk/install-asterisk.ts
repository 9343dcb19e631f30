// Unpacks Asterisk and sipp from Debian's packages into the cache: nothing is installed into the system, root is
// not needed, and every Debian runs the same versions.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { asterisk_cache, findAsteriskFiles, type AsteriskFiles } from "./asterisk-files.ts";

/** No Debian release contains Asterisk 22 yet. */
const suite = "sid";
const packages = ["asterisk", "asterisk-core-sounds-en-gsm", "sip-tester"];
const usual_mirror = "http://deb.debian.org/debian";
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

/**
 * Returns the unpacked Asterisk, unpacking it first if missing; an interrupted run is never mistaken for a complete
 * one. Throws an Error with the missing tool or the output of apt-get.
 */
export function installAsterisk(log: (line: string) => void): AsteriskFiles {
  const present = findAsteriskFiles();
  if (present !== null) return present;
  for (const tool of ["apt-get", "dpkg-deb", "setpriv"]) requireTool(tool);
  if (!existsSync(keyring))
    throw new Error(`${keyring} is missing: install debian-archive-keyring`);
  mkdirSync(asterisk_cache, { recursive: true });
  const draft = mkdtempSync(join(asterisk_cache, "draft-"));
  try {
    download(draft, log);
    unpack(draft, log);
    publish(join(draft, "root"));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  const files = findAsteriskFiles();
  if (files === null)
    throw new Error(`the packages unpacked into ${asterisk_cache} are incomplete`);
  return files;
}

function requireTool(tool: string): void {
  if (spawnSync(tool, ["--version"], { stdio: "ignore" }).error === undefined) return;
  throw new Error(
    `${tool} is missing: Asterisk is unpacked from Debian packages, so a Debian-based system is needed`,
  );
}

/** Downloads with separate apt lists and state, so that apt needs no root and changes nothing else. */
function download(draft: string, log: (line: string) => void): void {
  const mirror = findMirror();
  for (const dir of ["lists/partial", "archives/partial"]) {
    mkdirSync(join(draft, dir), { recursive: true });
  }
  writeFileSync(join(draft, "status"), "");
  writeFileSync(
    join(draft, "sources.list"),
    `deb [signed-by=${keyring}] ${mirror} ${suite} main\n`,
  );
  writeFileSync(
    join(draft, "apt.conf"),
    `Dir::State "${draft}";
Dir::State::status "${draft}/status";
Dir::Cache "${draft}";
Dir::Etc::sourcelist "${draft}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Install-Recommends "false";
APT::Sandbox::User "";
`,
  );
  log(`downloading Asterisk and sipp of Debian ${suite} from ${mirror} (100 MB)`);
  const env = { ...process.env, APT_CONFIG: join(draft, "apt.conf") };
  const apt = (...words: string[]) => {
    const done = spawnSync("apt-get", ["-qq", ...words], { env, encoding: "utf8" });
    if (done.status === 0) return;
    throw new Error(
      `apt-get ${words.join(" ")} failed; check that ${mirror} is reachable
      ${done.stderr}`,
    );
  };
  apt("update", "--error-on=any");
  apt("install", "--yes", "--download-only", ...packages);
}

/** Returns the Debian mirror that apt uses, which may be a proxy or a company's mirror. */
function findMirror(): string {
  const format = ["--format", "$(ORIGIN) $(REPO_URI)"];
  const { stdout } = spawnSync("apt-get", ["indextargets", ...format], { encoding: "utf8" });
  const uris = (stdout || "").split("\n").filter((line) => line.startsWith("Debian "));
  const main = uris.map((line) => line.slice("Debian ".length).replace(/\/$/, ""));
  return main.find((uri) => uri.endsWith("/debian")) ?? usual_mirror;
}

function unpack(draft: string, log: (line: string) => void): void {
  const archives = join(draft, "archives");
  const names = readdirSync(archives).filter((name) => name.endsWith(".deb"));
  log(`unpacking ${names.length} packages into ${asterisk_cache}`);
  mkdirSync(join(draft, "root"), { mode: 0o755 });
  for (const name of names) {
    const words = ["--extract", join(archives, name), join(draft, "root")];
    const done = spawnSync("dpkg-deb", words, { encoding: "utf8" });
    if (done.status !== 0) throw new Error(`dpkg-deb could not unpack ${name}: ${done.stderr}`);
  }
  // Documentation is a tenth of the size.
  for (const dir of ["doc", "man", "locale"]) {
    rmSync(join(draft, "root/usr/share", dir), { recursive: true, force: true });
  }
}

/** Renames the folder into place; if another install was faster, keeps that one. */
function publish(root: string): void {
  try {
    renameSync(root, join(asterisk_cache, "root"));
  } catch (error) {
    if (findAsteriskFiles() === null) throw error;
  }
}
