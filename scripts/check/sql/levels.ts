// Divides a statement into its levels: each query, with the tables and conditions that are its own.
import { fieldsOf, isFields, listOf, walk, type Fields } from "./parse-tree.ts";

/** As in migrations/tables.json; `other` is a table that the manifest does not have, such as one of the catalogue. */
export type TableKind = "tenant" | "reference" | "operator" | "other";
export type TableKinds = Readonly<Record<string, string>>;

export type StatementKind = "SelectStmt" | "InsertStmt" | "UpdateStmt" | "DeleteStmt";

export type Level = {
  readonly kind: StatementKind;
  readonly fields: Fields;
  /** Null for the statement itself. */
  readonly parent: Level | null;
  /** Of an insert; null for other statements. */
  readonly target: TableKind | null;
  /** The kinds of its own tables by alias, without the target of an insert. */
  readonly tables: Map<string, TableKind>;
  /** Aliases of subqueries and of common table expressions. */
  readonly derived: Set<string>;
  /** Aliases of functions in FROM. */
  readonly functions: Set<string>;
  /** Conditions that are all true. */
  readonly conditions: unknown[];
  /** Columns that joins have in common by USING. */
  readonly using: string[];
};

const statement_kinds: ReadonlySet<string> = new Set([
  "SelectStmt",
  "InsertStmt",
  "UpdateStmt",
  "DeleteStmt",
]);

/** Returns the levels of a statement, the outer ones first. */
export function readLevels(statement: unknown, kinds: TableKinds): Level[] {
  const ctes = new Set<string>();
  walk(statement, (kind, { ctename }) => {
    if (kind === "CommonTableExpr" && typeof ctename === "string") ctes.add(ctename);
    return true;
  });
  const levels: Level[] = [];
  enterStatements(statement, { parent: null, kinds, ctes, levels });
  return levels;
}

/** Returns the kinds of the tables that a statement reads or changes. */
export function tableKindsOf(levels: readonly Level[]): Set<TableKind | null> {
  return new Set(levels.flatMap(({ target, tables }) => [target, ...tables.values()]));
}

function kindOfTable(kinds: TableKinds, name: string): TableKind {
  const kind = kinds[name];
  return kind === "tenant" || kind === "reference" || kind === "operator" ? kind : "other";
}

type Context = {
  readonly parent: Level | null;
  readonly kinds: TableKinds;
  readonly ctes: ReadonlySet<string>;
  readonly levels: Level[];
};

function enterStatements(tree: unknown, context: Context): void {
  walk(tree, (kind, fields) => {
    if (!statement_kinds.has(kind)) return true;
    const level = newLevel(kind as StatementKind, fields, context);
    context.levels.push(level);
    enterStatements(fields, { ...context, parent: level });
    return false;
  });
}

function newLevel(kind: StatementKind, fields: Fields, context: Context): Level {
  const relation = fields["relation"];
  const table = isFields(relation) ? kindOfTable(context.kinds, String(relation["relname"])) : null;
  const level: Level = {
    kind,
    fields,
    parent: context.parent,
    target: kind === "InsertStmt" ? table : null,
    tables: new Map(),
    derived: new Set(),
    functions: new Set(),
    conditions: conjuncts(fields["whereClause"]),
    using: [],
  };
  if (kind !== "InsertStmt" && isFields(relation) && table !== null)
    level.tables.set(aliasOf(relation), table);
  for (const item of [...listOf(fields, "fromClause"), ...listOf(fields, "usingClause")])
    addFrom(level, item, context);
  return level;
}

function addFrom(level: Level, item: unknown, context: Context): void {
  const table = fieldsOf(item, "RangeVar");
  const join = fieldsOf(item, "JoinExpr");
  const fn = fieldsOf(item, "RangeFunction");
  const subselect = fieldsOf(item, "RangeSubselect");
  if (table) {
    const name = String(table["relname"]);
    if (context.ctes.has(name)) level.derived.add(aliasOf(table));
    else level.tables.set(aliasOf(table), kindOfTable(context.kinds, name));
  } else if (join) {
    addFrom(level, join["larg"], context);
    addFrom(level, join["rarg"], context);
    level.conditions.push(...conjuncts(join["quals"]));
    for (const column of listOf(join, "usingClause"))
      level.using.push(String(fieldsOf(column, "String")?.["sval"]));
  } else if (fn) {
    level.functions.add(aliasOf(fn));
  } else if (subselect) {
    level.derived.add(aliasOf(subselect));
  }
}

/** The alias, or the name without one. */
function aliasOf(fields: Fields): string {
  const alias = fields["alias"];
  return String(isFields(alias) ? alias["aliasname"] : fields["relname"]);
}

function conjuncts(condition: unknown): unknown[] {
  const both = fieldsOf(condition, "BoolExpr");
  if (both?.["boolop"] === "AND_EXPR") return listOf(both, "args").flatMap(conjuncts);
  return condition === undefined ? [] : [condition];
}
