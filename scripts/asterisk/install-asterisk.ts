// Asterisk and sipp from Debian's packages, unpacked into the cache: nothing is installed into the
// system, no root is needed, and what runs is the same on every Debian, whatever its age.
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

/** No Debian release carries Asterisk 22 yet. */
const suite = "sid";
const packages = ["asterisk", "asterisk-core-sounds-en-gsm", "sip-tester"];
const usual_mirror = "http://deb.debian.org/debian";
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

/**
 * The unpacked Asterisk, after unpacking it when it is not there; a start that was cut short leaves
 * nothing that a later one takes for whole. Throws an Error that says what is missing or what
 * apt-get answered.
 */
export function installAsterisk(log: (line: string) => void): AsteriskFiles {
  const present = findAsteriskFiles();
  if (present !== null) return present;
  for (const tool of ["apt-get", "dpkg-deb", "setpriv"]) requireTool(tool);
  if (!existsSync(keyring)) throw new Error(`please install debian-archive-keyring (${keyring})`);
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
  if (files === null) throw new Error(`nothing was unpacked into ${asterisk_cache}`);
  return files;
}

function requireTool(tool: string): void {
  if (spawnSync(tool, ["--version"], { stdio: "ignore" }).error === undefined) return;
  throw new Error(
    `${tool} is missing: this takes Asterisk from Debian's packages, so run it there`,
  );
}

/** With lists and a package state of its own: apt then needs no root and touches nothing else. */
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
  log(`Fetching Asterisk and sipp of Debian ${suite} from ${mirror} (100 MB)`);
  const env = { ...process.env, APT_CONFIG: join(draft, "apt.conf") };
  const apt = (...words: string[]) => {
    const done = spawnSync("apt-get", ["-qq", ...words], { env, encoding: "utf8" });
    if (done.status === 0) return;
    throw new Error(
      `apt-get ${words.join(" ")} failed; is ${mirror} reachable from here?\n${done.stderr}`,
    );
  };
  apt("update", "--error-on=any");
  apt("install", "--yes", "--download-only", ...packages);
}

/** The Debian mirror that apt already uses here, which a proxy or a company may have chosen. */
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
  log(`Unpacking ${names.length} packages into ${asterisk_cache}`);
  mkdirSync(join(draft, "root"), { mode: 0o755 });
  for (const name of names) {
    const words = ["--extract", join(archives, name), join(draft, "root")];
    const done = spawnSync("dpkg-deb", words, { encoding: "utf8" });
    if (done.status !== 0) throw new Error(`dpkg-deb could not unpack ${name}: ${done.stderr}`);
  }
  // What only people read is a tenth of it.
  for (const dir of ["doc", "man", "locale"]) {
    rmSync(join(draft, "root/usr/share", dir), { recursive: true, force: true });
  }
}

/** Takes its name in one step; when another install was quicker, that one is as good. */
function publish(root: string): void {
  try {
    renameSync(root, join(asterisk_cache, "root"));
  } catch (error) {
    if (findAsteriskFiles() === null) throw error;
  }
}
