// Keeps arriving bodies on disk until they are complete, so that a slow client takes nothing that others need.
import { mkdtemp, open, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HeldBody } from "./body-budget.ts";

/**
 * Opens a temporary file that is unlinked before its first byte arrives, so that nothing is left behind,
 * whatever happens.
 */
export async function openTemporary(): Promise<FileHandle> {
  const dir = await mkdtemp(join(tmpdir(), "trunkline-upload-"));
  try {
    return await open(join(dir, "upload"), "wx+", 0o600);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Returns whether an error means that the disk or the process can take no more files. */
export function isOutOfSpace(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT", "EMFILE"].includes((error as { code?: string }).code ?? "");
}

/** Passes on a stream's chunks, and counts them. */
export async function* counted(
  stream: AsyncIterable<Buffer>,
  held: HeldBody,
): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    held.add(chunk.length);
    yield chunk;
  }
}
