// Reads the statements of an SQL function from its file.
import { parsePlPgSQLSync, parseSync } from "libpg-query";
import { fieldsOf, listOf, nameParts, nodesOf, walk, type Fields } from "./parse-tree.ts";

export type FunctionStatement = {
  readonly line: number;
  readonly node: unknown;
  /** The function uses FOUND or a row count of it. */
  readonly counted: boolean;
};

export type ReadFunction = {
  readonly name: string;
  readonly language: string;
  readonly volatility: "immutable" | "stable" | "volatile";
  /** Names of parameters and variables. */
  readonly variables: ReadonlySet<string>;
  readonly statements: readonly FunctionStatement[];
};

/** Reads a file with one `create function`. */
export function readFunction(sql: string): ReadFunction {
  const fn = nodesOf(parseSync(sql).stmts, "CreateFunctionStmt")[0];
  if (!fn) throw new Error("the file does not create a function");
  const options = new Map(
    listOf(fn, "options").map((option) => {
      const { defname, arg } = fieldsOf(option, "DefElem")!;
      return [String(defname), arg];
    }),
  );
  const word = (option: string) => nameParts([options.get(option)])[0]!;
  const language = word("language");
  const body = nameParts(listOf(fieldsOf(options.get("as"), "List"), "items"))[0]!;
  const first_line = sql.slice(0, sql.indexOf(body)).split("\n").length;
  const volatility = options.has("volatility") ? word("volatility") : "volatile";
  const variables = new Set(
    listOf(fn, "parameters").flatMap((parameter) =>
      String(fieldsOf(parameter, "FunctionParameter")?.["name"]),
    ),
  );
  const read =
    language === "plpgsql" ? readBody(sql, first_line, variables) : readSql(body, first_line);
  return {
    name: nameParts(listOf(fn, "funcname"))[0]!,
    language,
    volatility: volatility as ReadFunction["volatility"],
    variables,
    statements: read,
  };
}

function readSql(body: string, first_line: number): FunctionStatement[] {
  return (parseSync(body).stmts ?? []).map(({ stmt, stmt_location = 0 }) => {
    const above = /^(?:\s|--[^\n]*\n)*/.exec(body.slice(stmt_location))![0];
    const lines = (body.slice(0, stmt_location) + above).split("\n").length - 1;
    return { line: first_line + lines, node: stmt, counted: false };
  });
}

/** The parser does not know our composite types, and refuses arrays of them. */
function readBody(sql: string, first_line: number, variables: Set<string>): FunctionStatement[] {
  const parsed: unknown = parsePlPgSQLSync(sql.replaceAll(/^( +v_\w+ )\w+\[\]/gm, "$1text[]"));
  walk(parsed, (_kind, { refname }) => {
    if (typeof refname === "string") variables.add(refname);
    return true;
  });
  const statements: { line: number; node: unknown; counted: boolean }[] = [];
  let line = 0;
  walk(parsed, (kind, fields) => {
    if (typeof fields["lineno"] === "number") line = first_line + fields["lineno"] - 1;
    if (kind === "PLpgSQL_stmt_getdiag" && statements.length > 0) statements.at(-1)!.counted = true;
    if (kind !== "PLpgSQL_expr") return true;
    const node = parseExpression(fields);
    if (readsFound(node) && statements.length > 0) statements.at(-1)!.counted = true;
    if (isStatement(node)) statements.push({ line, node, counted: false });
    return true;
  });
  return statements;
}

/** Conditions and assignments are parsed as queries without FROM. */
function parseExpression({ query, parseMode }: Fields): unknown {
  const text = String(query);
  const sql =
    parseMode === 0
      ? text
      : `select ${parseMode === 2 ? text : text.slice(text.indexOf(":=") + 2)}`;
  return parseSync(sql).stmts?.[0]?.stmt;
}

function readsFound(node: unknown): boolean {
  return nodesOf(node, "ColumnRef").some(
    (column) => nameParts(listOf(column, "fields")).join(".") === "found",
  );
}

/** Whether it reads or changes a table, or has a CASE; nothing else can violate a rule. */
function isStatement(node: unknown): boolean {
  return (
    !fieldsOf(node, "SelectStmt") ||
    ["RangeVar", "RangeFunction", "CaseExpr"].some((kind) => nodesOf(node, kind).length > 0)
  );
}
