// pg-copy-streams has no types; these cover what we use.
declare module "pg-copy-streams" {
  import type { Readable, Writable } from "node:stream";
  import type { Submittable } from "pg";

  /** A COPY … FROM STDIN to write to. Destroying it makes the server undo the copy. */
  export type CopyStream = Writable &
    Submittable & { readonly rowCount: number; query_timeout?: number };
  export function from(text: string): CopyStream;

  /** A COPY … TO STDOUT to read from; its chunks do not end where rows end. */
  export type CopyOutput = Readable & Submittable & { readonly rowCount: number };
  export function to(text: string): CopyOutput;
}
