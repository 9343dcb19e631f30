// Runs a command on the machine's installed PostgreSQL instead of the embedded one: the oldest supported version must
// pass like the newest. By default the contract, the tenant matrix, and few more test files, so that every file of the
// server issues its SQL, by the records of the last `npm test`. The server lives as long as the command.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, readdirSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { coveringFiles, readRecordedRuns } from "./lib/recorded-runs.ts";
import { scratchFolder } from "../test/support/scratch-folder.ts";

const always = /^test\/(contract|matrix)\/(?!chat-large)/;
/** Its plans are of the shipped version; processes of drills and other programs. */
const left_out = /^test\/(lists-at-depth|(asterisk|browser|citus|drills|fuzz|prism)\/)/;

const installed = "/usr/lib/postgresql";
const versions = readdirSync(installed).map(Number).filter(Number.isInteger);
const version = Math.min(...versions.filter((each) => each >= 15));
const bin = join(installed, String(version), "bin");

/** PostgreSQL refuses to run as root. */
const nobody = 65_534;
const is_root = process.getuid?.() === 0;

const dir = scratchFolder("trunkline-installed-postgres-");
if (is_root) chownSync(dir, nobody, nobody);
// PostgreSQL's programs fail in a working directory that their user may not enter.
const user = { cwd: dir, ...(is_root && { uid: nobody, gid: nobody }) };
const data = join(dir, "data");
const port = await freePort();
execFileSync(
  join(bin, "initdb"),
  ["-D", data, "-A", "trust", "-U", "trunkline", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"],
  {
    ...user,
    stdio: "ignore",
  },
);
const settings = [
  "-c",
  `unix_socket_directories=${dir}`,
  "-c",
  "max_connections=300",
  "-c",
  "listen_addresses=127.0.0.1",
  "-c",
  "fsync=off",
];
const postgres = spawn(join(bin, "postgres"), ["-D", data, "-p", String(port), ...settings], {
  ...user,
  stdio: "ignore",
});
const isReady = () =>
  spawnSync(join(bin, "pg_isready"), ["-q", "-h", "127.0.0.1", "-p", String(port)]).status === 0;
const deadline = performance.now() + 30_000;
while (!isReady()) {
  if (postgres.exitCode !== null || performance.now() > deadline)
    throw new Error(`PostgreSQL ${version} did not start`);
}

const [command = "npm", ...words] = process.argv.length > 2 ? process.argv.slice(2) : tests();
console.log(`PostgreSQL ${version}: ${[command, ...words].join(" ")}`);
const run = spawnSync(command, words, {
  stdio: "inherit",
  env: { ...process.env, TEST_DATABASE_URL: `postgres://trunkline@127.0.0.1:${port}/postgres` },
});
postgres.kill("SIGINT");
await once(postgres, "exit");
rmSync(dir, { recursive: true });
process.exit(run.status ?? 1);

function tests(): string[] {
  const root = join(import.meta.dirname, "..");
  const runs = [...readRecordedRuns(root)].filter(
    ([file]) =>
      /^(server|test)\//.test(file) && !left_out.test(file) && existsSync(join(root, file)),
  );
  const runsAlways = (file: string) => always.test(file);
  const needed = coveringFiles(new Map(runs), runsAlways);
  const files = [...runs.map(([file]) => file).filter(runsAlways), ...needed];
  if (files.length === 0) throw new Error("no statement was recorded: run npm test first");
  return ["node", "scripts/run-test-groups.ts", ...files];
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return free;
}
