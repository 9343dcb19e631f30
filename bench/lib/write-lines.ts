import { createWriteStream } from "node:fs";
import { once } from "node:events";

const lines_per_write = 10_000;

/** Writes `count` lines, after the header if there is one. */
export async function writeLines(
  file: string,
  count: number,
  lineOf: (i: number) => string,
  header?: string,
): Promise<void> {
  const stream = createWriteStream(file);
  if (header !== undefined) stream.write(`${header}\n`);
  for (let i = 0; i < count; i += lines_per_write) {
    const length = Math.min(lines_per_write, count - i);
    const some = Array.from({ length }, (_, k) => lineOf(i + k));
    if (!stream.write(`${some.join("\n")}\n`)) await once(stream, "drain");
  }
  stream.end();
  await once(stream, "finish");
}
