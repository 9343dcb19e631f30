// Writes multipart bodies, mostly malformed.
import { evil_json, evil_texts } from "./evil.ts";
import { breakBytes } from "./break-bytes.ts";
import type { Random } from "./random.ts";

const boundary = "----boundary";

/** The Content-Type of the bodies of mutateUpload. */
export const upload_type = `multipart/form-data; boundary=${boundary}`;

/** Returns the form as bytes, mostly with mutations. */
export function mutateUpload(random: Random, form: FormData): Buffer {
  const parts = [...form].map(([name, value]) =>
    typeof value === "string"
      ? part(`name="${name}"`, random.oneIn(3) ? random.pick(evil_json) : value)
      : part(`name="${name}"; filename="leads.csv"`, random.pick(evil_csv)),
  );
  if (random.oneIn(3)) parts.reverse();
  if (random.oneIn(8)) parts.splice(random.below(parts.length), 1);
  if (random.oneIn(8)) parts.push(part(`name="${random.pick(evil_texts)}"`, "x"));
  if (random.oneIn(8)) parts.push(part(random.pick(evil_dispositions), "x"));
  if (random.oneIn(10))
    parts.push(...Array.from({ length: 60 }, (_, i) => part(`name="f${i}"`, "")));
  const end = random.oneIn(10) ? "" : `--${boundary}--\r\n`;
  const body = Buffer.from(parts.join("") + end);
  return random.oneIn(6) ? breakBytes(random, body) : body;
}

function part(disposition: string, content: string): string {
  return `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
}

const evil_dispositions = [
  "",
  "name",
  'name=""',
  'name="file"',
  'name="file"; filename=""',
  'name="file"; filename="../../x"',
  'name="file"; filename="a\u0000b.csv"',
  'name="columnMap"; filename="x.json"',
  'name="__proto__"',
  'name="constructor"; filename="constructor"',
  'name="file"\r\ncontent-transfer-encoding: base64',
  `name="${"n".repeat(5_000)}"`,
];

const evil_csv = [
  "",
  "\n",
  "Phone",
  "Phone,Name\n9876543210,Ann\n",
  "Phone,Phone\n1,2\n",
  "Phone,Name\n1\n1,2,3,4\n",
  '"Phone\n',
  'Phone,Name\n"98765,"Ann"x\n',
  "\u0000Phone\u0000\n\u0000\n",
  "\ufeffPhone;Name\r\n9876543210;Ann\r\n",
  `Phone,Name\n${"1,x\n".repeat(2_000)}`,
  `${"c,".repeat(5_000)}Phone\n`,
  `Phone\n${"9".repeat(100_000)}\n`,
];
