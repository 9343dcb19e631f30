const chunk_characters = 65_536;
const encoder = new TextEncoder();

/** Collects lines of COPY into chunks. */
export type LineBuffer = {
  add(line: string): void;
  /** Returns the lines since the last call if they are many, or always with `all`; else null. */
  take(all?: boolean): Uint8Array | null;
};

/** Opens an empty buffer. Each chunk owns its memory, so that it can be transferred to a thread. */
export function openLineBuffer(): LineBuffer {
  let lines = "";
  return {
    add(line) {
      lines += line;
    },
    take(all = false) {
      if (lines === "" || (!all && lines.length < chunk_characters)) return null;
      // Not a Buffer, which may be part of a shared pool and cannot be transferred.
      const chunk = encoder.encode(lines);
      lines = "";
      return chunk;
    },
  };
}
