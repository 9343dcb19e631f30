import { createWriteStream } from "node:fs";
import { once } from "node:events";

const lines_a_write = 10_000;

/** Writes so many lines, after a header where there is one. */
export async function writeLines(
  file: string,
  count: number,
  lineOf: (i: number) => string,
  header?: string,
): Promise<void> {
  const stream = createWriteStream(file);
  if (header !== undefined) stream.write(`${header}\n`);
  for (let i = 0; i < count; i += lines_a_write) {
    const length = Math.min(lines_a_write, count - i);
    const some = Array.from({ length }, (_, k) => lineOf(i + k));
    if (!stream.write(`${some.join("\n")}\n`)) await once(stream, "drain");
  }
  stream.end();
  await once(stream, "finish");
}
