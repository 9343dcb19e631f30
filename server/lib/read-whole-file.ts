import { fstat, read } from "node:fs";
import { promisify } from "node:util";

const readInto = promisify(read);
const statOf = promisify(fstat);

/** Reads all bytes of an open file, regardless of its position. */
export async function readWholeFile(fd: number): Promise<Buffer> {
  const { size } = await statOf(fd);
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await readInto(fd, bytes, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}
