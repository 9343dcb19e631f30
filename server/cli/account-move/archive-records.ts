// What the file of an exported account contains, once it is decrypted and unzipped: a header, and for each table its rows
// in the text format of COPY and their count and checksum. docs/guides/move-an-account.md describes it.
import type { OpenedSecret } from "../../lib/secrets/stored-secrets.ts";
import type { AccountBindings } from "./account-bindings.ts";
import { ArchiveError } from "./archive-cipher.ts";
import { openByteReader } from "./byte-reader.ts";
import type { OperatorSettings } from "./operator-settings.ts";

/** A table, with the columns in the order of its rows' values. */
export type TableHeader = {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
};

/** A node or trunk that rows of the account name. */
export type NamedId = { readonly id: number; readonly name: string };

export type ArchiveHeader = {
  readonly product_version: string;
  /** The newest migration. */
  readonly schema: string;
  readonly account_id: number;
  readonly account_name: string;
  readonly exported_at: string;
  /** Whether the account was frozen and nothing was in progress: only then may it be active elsewhere. */
  readonly frozen: boolean;
  readonly operator_settings: OperatorSettings;
  readonly bindings: AccountBindings;
  readonly tables: readonly TableHeader[];
  /** The last ID that each identity has given. */
  readonly last_ids: Readonly<Record<string, number>>;
  readonly secrets: readonly OpenedSecret[];
  readonly nodes: readonly NamedId[];
  readonly trunks: readonly NamedId[];
  /** Keys that no other account of an installation may have. */
  readonly chat_routes: readonly string[];
  readonly phone_numbers: readonly string[];
};

export type TableEnd = { readonly rows: number; readonly sha256: string };

export type ArchiveRecord =
  | { readonly kind: "header"; readonly header: ArchiveHeader }
  /** Begins a table. */
  | { readonly kind: "table"; readonly name: string }
  /** Bytes of its rows, not necessarily whole rows. */
  | { readonly kind: "rows"; readonly bytes: Buffer }
  | { readonly kind: "table_end"; readonly end: TableEnd };

export type ArchiveRecords = AsyncGenerator<ArchiveRecord, undefined>;

const kinds = ["header", "table", "rows", "table_end"] as const;
const head_bytes = 5;
const record_bytes_max = 1_073_741_824;

/** Returns a record's bytes: its kind as one byte, the length of its content as four, and the content. */
export function encodeRecord(record: ArchiveRecord): Buffer {
  const content = contentOf(record);
  const head = Buffer.alloc(head_bytes);
  head[0] = kinds.indexOf(record.kind);
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}

function contentOf(record: ArchiveRecord): Buffer {
  switch (record.kind) {
    case "header":
      return Buffer.from(JSON.stringify(record.header));
    case "table":
      return Buffer.from(record.name);
    case "rows":
      return record.bytes;
    case "table_end":
      return Buffer.from(JSON.stringify(record.end));
  }
}

/** Reads records. Throws ArchiveError if the last one is not complete. */
export async function* readRecords(source: AsyncIterable<Buffer>): ArchiveRecords {
  const reader = openByteReader(source);
  for (;;) {
    const head = await reader.read(head_bytes);
    if (head === null) return undefined;
    const length = head.readUInt32BE(1);
    const content = length > record_bytes_max ? null : await reader.read(length);
    if (content === null) throw new ArchiveError("The file contains a record that is not complete");
    yield decodeRecord(kinds[head[0]!], content);
  }
}

function decodeRecord(kind: (typeof kinds)[number] | undefined, content: Buffer): ArchiveRecord {
  switch (kind) {
    case "header":
      return { kind, header: JSON.parse(content.toString()) as ArchiveHeader };
    case "table":
      return { kind, name: content.toString() };
    case "rows":
      return { kind, bytes: content };
    case "table_end":
      return { kind, end: JSON.parse(content.toString()) as TableEnd };
    case undefined:
      throw new ArchiveError("The file contains a record of an unknown kind");
  }
}
