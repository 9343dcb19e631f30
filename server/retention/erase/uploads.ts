// Rows of uploads as they were received: rows waiting to be imported, and rejects. No index contains the
// numbers in them, so the account's rows are scanned in pages.
import { withNationalPrefix } from "../../lib/chat-phone-numbers.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { foreign_digits } from "../../lib/phone-numbers.ts";
import { change_rows, type Part, type Person } from "./part.ts";
import { readPage, type Page } from "./read-page.ts";

/** What compactPhone drops, in a bracket of PostgreSQL, which has no categories of characters. */
const ignored_signs =
  "][(\\s.)\u00AD\u00A0\u061C\u180E\u2000-\u2015\u202A-\u202F\u205F-\u206F\u2212\u3000\u30FC\uFE58\uFE63\uFEFF\uFF08-\uFF09\uFF0D\uFF0E\uFF3B\uFF3D-";

/** So many digits are also found within others. */
const whole_digits = 10;

/** Text that a step searches, and at most one row more: a row may have a million characters, which take a second. */
const scan_bytes = 1_000_000;

/** The upload or campaign, and the row in it. */
type RowPlace = readonly [of: number, row: number];

/** The column with a row's text, in SQL: its name, its length in bytes, and whether it contains the number. */
type TextColumn = { readonly column: string; readonly bytes: string; readonly isTheirs: string };

const cells: TextColumn = {
  column: "cells",
  bytes: "(select coalesce(sum(octet_length(cell)), 0) from unnest(r.cells) cell)",
  isTheirs: `exists (select from unnest(r.cells) cell where ${hasDigits("cell")})`,
};

const value: TextColumn = {
  column: "value",
  bytes: "octet_length(r.value)",
  isTheirs: hasDigits("r.value"),
};

/** An emptied row creates no lead. */
export const eraseImportRows = scanRows({
  find: findIn("lead_import_rows", "import_id", "row_number", cells),
  // Waits for a batch of the import that is in progress.
  lock: lockImportsOf,
  empty: statement(`
    update lead_import_rows r set cells = array_fill(''::text, array[cardinality(r.cells)])
    where r.account_id = $1 and r.import_id = $2 and r.row_number = $3 and cardinality(r.cells) > 0
    returning 1`),
});

export const eraseImportRejects = scanRows({
  find: findIn("lead_import_rejects", "import_id", "row_number", cells),
  empty: statement(`
    update lead_import_rejects r set cells = array_fill(''::text, array[cardinality(r.cells)])
    where r.account_id = $1 and r.import_id = $2 and r.row_number = $3 and cardinality(r.cells) > 0
    returning 1`),
});

export const eraseVoiceRejects = scanRows({
  find: findIn("voice_rejects", "campaign_id", "row", value),
  empty: statement(`
    update voice_rejects r set value = ''
    where r.account_id = $1 and r.campaign_id = $2 and r.row = $3 returning 1`),
});

function scanRows(how: {
  readonly find: ReturnType<typeof statement<Page<RowPlace>>>;
  readonly lock?: (tx: Tx, person: Person, found: readonly RowPlace[]) => Promise<unknown>;
  readonly empty: ReturnType<typeof statement>;
}): Part {
  return async ({ app, person, progress, write }) => {
    const { account_id } = person;
    const long = longOf(person).map((each) => `%${each}%`);
    const pattern = patternOf(person);
    const [of, row] = (progress.at ?? [0, 0]) as RowPlace;
    const values = [account_id, of, row, change_rows, long, pattern, scan_bytes];
    const { found, next } = await readPage(app, how.find, values, change_rows);
    return write(async (tx) => {
      if (found.length > 0) await how.lock?.(tx, person, found);
      let import_rows = 0;
      for (const place of found)
        import_rows += (await how.empty(tx, [account_id, ...place])).length;
      return { at: next, counts: { import_rows } };
    });
  };
}

/** Returns the numbers with their national prefix after the calling code: an import drops it. */
function prefixed({ spellings }: Person): string[] {
  return spellings.map(withNationalPrefix).filter((each) => each !== null);
}

/** Returns the forms that are also found within other digits; none if the number has too few. */
function longOf(person: Person): string[] {
  const long = person.digits.filter(({ length }) => length >= whole_digits);
  return long.length === 0 ? [] : [...long, ...prefixed(person)];
}

function patternOf(person: Person): string {
  const numbers = prefixed(person);
  if (numbers.length === 0) return person.pattern;
  return `${person.pattern}|(?<![0-9])(00)?(${numbers.join("|")})(?![0-9])`;
}

const lockImports = statement(`
  select i.id from lead_imports i
  where i.account_id = $1 and i.id = any ($2::bigint[]) order by i.id for no key update`);

function lockImportsOf(tx: Tx, { account_id }: Person, found: readonly RowPlace[]) {
  return lockImports(tx, [account_id, [...new Set(found.map(([import_id]) => import_id))]]);
}

/**
 * Returns SQL that is true when a text contains the number, in every spelling that compactPhone reads. Ignores the
 * surrounding digits, so that a row too many is erased rather than one too few, unless the number has fewer than ten
 * digits and is part of many others.
 */
function hasDigits(text: string): string {
  // Most texts are ASCII and take half the time without translate().
  const ascii = `case when octet_length(${text}) = length(${text}) then ${text}
    else translate(${text}, '${foreign_digits}', repeat('0123456789', 3)) end`;
  const written = (fraction: string) =>
    `regexp_replace(${ascii}, '${fraction}[${ignored_signs}]', '', 'g') ~ $6`;
  return `case when cardinality($5::text[]) > 0 then regexp_replace(${ascii}, '[^0-9]', '', 'g') like any ($5)
    else ${written("")} or ${written(`[.\uFF0E]0+[${ignored_signs}]*$|`)} end`;
}

// The stored size first, which is known without reading the text: it may be compressed, but is no longer than the text.
function findIn(table: string, of: string, row: string, text: TextColumn) {
  const { column, bytes, isTheirs } = text;
  return statement<Page<RowPlace>>(`
    with page as materialized (
      select r.of, r.row, r.rows, ${isTheirs} as is_theirs from (
        select r.*, sum(r.bytes) over (order by r.of, r.row) - r.bytes as bytes_before from (
          select r.*, ${bytes} as bytes from (
            select r.*, count(*) over () as rows, sum(r.stored) over (order by r.of, r.row) - r.stored as stored_before
            from (
              select r.${of} as of, r.${row} as row, r.${column}, pg_column_size(r.${column}) as stored from ${table} r
              where r.account_id = $1 and (r.${of}, r.${row}) > ($2, $3)
              order by r.${of}, r.${row} limit $4
            ) r
          ) r
          where r.stored_before < $7
        ) r
      ) r
      where r.bytes_before < $7
    )
    select
      (select coalesce(json_agg(json_build_array(p.of, p.row) order by p.of, p.row), '[]')
        from page p where p.is_theirs) as found,
      (select json_build_array(p.of, p.row) from page p order by p.of desc, p.row desc limit 1) as last,
      (select count(*)::int from page) as rows,
      (select coalesce(max(p.rows), 0) > count(*) from page p) as is_cut`);
}
