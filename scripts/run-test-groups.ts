// Runs test files in a few processes, several files in each: loading the service takes longer than the tests of most
// files. The arguments are paths or patterns of test files.
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { groups_folder, recordFile } from "../test/support/reporters/test-record.ts";

/** Few enough that the processes end at about the same time, whatever files they get. */
const files_per_group = 8;

const root = join(import.meta.dirname, "..");
const files = globSync(process.argv.slice(2), {
  cwd: root,
  exclude: ["**/node_modules/**"],
}).toSorted();
if (files.length === 0) throw new Error("no test file matches");
for (const file of files) rmSync(recordFile(root, file), { force: true });

const folder = join(root, groups_folder);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const groups = Math.ceil(files.length / files_per_group);
for (let number = 0; number < groups; number++)
  writeFileSync(join(folder, `${number}.test.ts`), groupCode(number));

const words = [
  "--test-concurrency=3",
  // Of a group; run-together.ts limits each file.
  "--test-timeout=1800000",
  `${groups_folder}/*.test.ts`,
];
const run = spawnSync("npm", ["run", "-s", "test:run", "--", ...words], {
  cwd: root,
  stdio: "inherit",
});
process.exit(run.status ?? 1);

/** Neighbors are of one area and take about as long: each group gets files of all areas. */
function groupCode(number: number): string {
  const group = files.filter((_, place) => place % groups === number);
  return `import { runTogether } from "../../test/support/run-together.ts";
runTogether(${JSON.stringify(group)});
`;
}
