// pg-copy-streams ships no types: what we use of it.
declare module "pg-copy-streams" {
  import type { Writable } from "node:stream";
  import type { Submittable } from "pg";

  /** A COPY … FROM STDIN to write into. Destroying it makes the server undo what it copied. */
  export type CopyStream = Writable &
    Submittable & { readonly rowCount: number; query_timeout?: number };
  export function from(text: string): CopyStream;
}
