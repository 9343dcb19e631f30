// The rules about accounts: a statement on tenant tables names one account, by a parameter, in each of its queries.
import { tableKindsOf, type Level } from "./levels.ts";
import { columnOf, fieldsOf, isFields, listOf, nameParts, type Fields } from "./parse-tree.ts";

export type Rule =
  | "several-accounts"
  | "correlated-account"
  | "mixed-tables"
  | "simple-case"
  | "look-up-beside-rows"
  | "recursive"
  | "changing-function"
  | "function-per-row"
  | "subquery-in-returning"
  | "subquery-in-insert"
  | "count-after-conflict"
  | "sql-function";

export type Problem = { readonly rule: Rule; readonly text: string };

/** Whether a name in an expression is a variable or a parameter of the function around the statement. */
export type IsVariable = (name: string) => boolean;

/** Returns the violations of one statement, given as its levels. */
export function accountProblems(levels: readonly Level[], isVariable: IsVariable): Problem[] {
  const problems = levels.flatMap((level) => [
    ...insertProblems(level, isVariable),
    ...levelProblems(level, isVariable),
  ]);
  const used = tableKindsOf(levels);
  if (used.has("tenant") && used.has("operator"))
    problems.push({ rule: "mixed-tables", text: "joins an operator table with tenant tables" });
  return problems;
}

function levelProblems(level: Level, isVariable: IsVariable): Problem[] {
  const groups = accountGroups(level, isVariable);
  return [...level.tables].flatMap(([alias, kind]): Problem[] => {
    if (kind !== "tenant") return [];
    const group = groups.get(alias);
    if (group?.has(parameter)) return [];
    const outer = [...(group ?? [])].find((name) => !level.tables.has(name));
    if (outer !== undefined)
      return [
        {
          rule: "correlated-account",
          text: `takes the account of ${alias} from ${outer}: name it by the parameter`,
        },
      ];
    return [{ rule: "several-accounts", text: `reads ${alias} without one account` }];
  });
}

/** Stands for the parameters in a group of equal accounts. */
const parameter = "$";

/** Returns, by alias, which aliases have the same account: those of this level, of outer ones, and the parameter. */
function accountGroups(level: Level, isVariable: IsVariable): Map<string, Set<string>> {
  const groups = new Map<string, Set<string>>();
  const join = (left: string, right: string) => {
    const joined = new Set([
      left,
      right,
      ...(groups.get(left) ?? []),
      ...(groups.get(right) ?? []),
    ]);
    for (const name of joined) groups.set(name, joined);
  };
  for (const [left, right] of level.conditions.flatMap(equalities)) {
    const names = [left, right].map((side) => accountOf(side, level, isVariable));
    if (names[0] !== undefined && names[1] !== undefined) join(names[0], names[1]);
  }
  if (level.using.includes("account_id")) {
    const names = [...level.tables.keys(), ...level.derived];
    for (const name of names) join(names[0]!, name);
  }
  return groups;
}

/** The sides of `a = b`, also of `(a, b) = (c, d)`. */
function equalities(condition: unknown): [unknown, unknown][] {
  const expression = fieldsOf(condition, "A_Expr");
  if (expression?.["kind"] !== "AEXPR_OP" || nameParts(listOf(expression, "name"))[0] !== "=")
    return [];
  const { lexpr, rexpr } = expression;
  const rows = [fieldsOf(lexpr, "RowExpr"), fieldsOf(rexpr, "RowExpr")];
  if (!rows[0] || !rows[1]) return [[lexpr, rexpr]];
  const right = listOf(rows[1], "args");
  return listOf(rows[0], "args").map((left, index) => [left, right[index]]);
}

/** The alias whose account the expression is, the parameter, or undefined for anything else. */
function accountOf(expression: unknown, level: Level, isVariable: IsVariable): string | undefined {
  if (isParameter(expression, isVariable)) return parameter;
  const column = columnOf(expression);
  if (column?.at(-1) !== "account_id") return undefined;
  if (column.length > 1) return column[0];
  const [only, other] = level.tables.keys();
  return other === undefined ? only : undefined;
}

/** Whether the expression is known before the statement runs: a parameter, a variable or a constant. */
export function isParameter(expression: unknown, isVariable: IsVariable): boolean {
  const cast = fieldsOf(expression, "TypeCast");
  if (cast) return isParameter(cast["arg"], isVariable);
  if (fieldsOf(expression, "ParamRef") || fieldsOf(expression, "A_Const")) return true;
  const column = columnOf(expression);
  return column !== undefined && isVariable(column[0]!);
}

/** An insert gives each row the account of the parameter, or of a row that it read under the same rules. */
function insertProblems(level: Level, isVariable: IsVariable): Problem[] {
  const table = level.fields["relation"];
  if (level.target !== "tenant" || !isFields(table)) return [];
  const columns = listOf(level.fields, "cols").map(
    (column) => fieldsOf(column, "ResTarget")?.["name"],
  );
  const place = columns.indexOf("account_id");
  const source = fieldsOf(level.fields["selectStmt"], "SelectStmt");
  const named = accountsInserted(source, place).every(
    (value) => isParameter(value, isVariable) || columnOf(value)?.at(-1) === "account_id",
  );
  if (place >= 0 && named) return [];
  return [
    {
      rule: "several-accounts",
      text: `inserts into ${String(table["relname"])} without one account`,
    },
  ];
}

function accountsInserted(source: Fields | undefined, place: number): unknown[] {
  if (source === undefined) return [];
  const values = listOf(source, "valuesLists");
  if (values.length > 0) return values.map((row) => listOf(fieldsOf(row, "List"), "items")[place]);
  if (isFields(source["larg"]) && isFields(source["rarg"]))
    return [source["larg"], source["rarg"]].flatMap((side) => accountsInserted(side, place));
  return [fieldsOf(listOf(source, "targetList")[place], "ResTarget")?.["val"]];
}
