// Prepares the run folder of an Asterisk: its configuration from asterisk/etc and asterisk/try (whose files
// replace those of the same name), and its sounds.
import { randomBytes } from "node:crypto";
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { nobody, type AsteriskFiles } from "./asterisk-files.ts";
import { choosePorts, type AsteriskPorts } from "./choose-ports.ts";
import { writeTone } from "./write-tone.ts";

/** Settings that are kept between starts on a folder. */
export type AsteriskSettings = { readonly ports: AsteriskPorts; readonly ari_password: string };

const templates = join(import.meta.dirname, "../../asterisk");
/** Folders that Asterisk does not create. */
const folders = ["db", "lib/keys", "run", "log/cdr-custom", "spool/recording", "sounds/music"];
/** Copied from the package: indication tones, and files whose absence Asterisk reports. */
const of_package = [
  "acl.conf",
  "ccss.conf",
  "features.conf",
  "indications.conf",
  "pjproject.conf",
  "stasis.conf",
  "udptl.conf",
];

/** Prepares the folder; keeps settings of an earlier start. */
export async function prepareRun(
  files: AsteriskFiles,
  run_dir: string,
  ports: Partial<AsteriskPorts>,
): Promise<AsteriskSettings> {
  for (const folder of ["etc", ...folders]) mkdirSync(join(run_dir, folder), { recursive: true });
  const settings = await settle(join(run_dir, "settings.json"), ports);
  const values = {
    RUN: run_dir,
    ASTERISK: files.root,
    MODULES: files.modules,
    MUSIC: join(run_dir, "sounds/music"),
    ARI_PASSWORD: settings.ari_password,
    SIP_ADDRESS: "127.0.0.1",
    HTTP_PORT: settings.ports.http,
    SIP_PORT: settings.ports.sip,
    RTP_START: settings.ports.rtp_start,
    RTP_END: settings.ports.rtp_end,
    CARRIER_PORT: settings.ports.carrier,
    PHONE_PORT: settings.ports.phone,
    BENCH_PORT: settings.ports.bench,
    DEAD_PORT: settings.ports.dead,
  };
  for (const dir of ["etc", "try"]) fill(join(templates, dir), join(run_dir, "etc"), values);
  for (const name of of_package) {
    copyFileSync(join(files.root, "etc/asterisk", name), join(run_dir, "etc", name));
  }
  writeTone(join(run_dir, "sounds/clip1.wav"), 1.5, 440);
  writeTone(join(run_dir, "sounds/clip5.wav"), 5, 660);
  writeTone(join(run_dir, "sounds/music/music.wav"), 10, 300);
  if (process.getuid?.() === 0) giveAway(run_dir);
  return settings;
}

async function settle(path: string, given: Partial<AsteriskPorts>): Promise<AsteriskSettings> {
  if (existsSync(path)) return JSON.parse(readFileSync(path, "utf8")) as AsteriskSettings;
  const ari_password = randomBytes(24).toString("base64url");
  const settings = { ports: await choosePorts(given), ari_password };
  writeFileSync(path, JSON.stringify(settings));
  return settings;
}

function fill(from: string, to: string, values: Readonly<Record<string, string | number>>): void {
  for (const name of readdirSync(from)) {
    const text = readFileSync(join(from, name), "utf8").replaceAll(/@([A-Z_]+)@/g, (_, key) => {
      const value = values[key as string];
      if (value === undefined) throw new Error(`${join(from, name)}: unknown placeholder @${key}@`);
      return String(value);
    });
    writeFileSync(join(to, name), text);
  }
}

/** Root's Asterisk runs as nobody, who must be able to write here. */
function giveAway(run_dir: string): void {
  const entries = readdirSync(run_dir, { recursive: true, encoding: "utf8" });
  for (const path of [run_dir, ...entries.map((entry) => join(run_dir, entry))]) {
    if (existsSync(path)) chownSync(path, nobody, nobody);
  }
}
