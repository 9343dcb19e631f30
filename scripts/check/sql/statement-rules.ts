// The other rules for statements that Citus plans differently from PostgreSQL, or refuses.
import { isParameter, type IsVariable, type Problem } from "./account-rules.ts";
import { tableKindsOf, type Level } from "./levels.ts";
import {
  calledName,
  fieldsOf,
  isFields,
  listOf,
  nameParts,
  nodesOf,
  walk,
  type Fields,
} from "./parse-tree.ts";

/** The volatility of our own functions by name. */
export type Volatilities = ReadonlyMap<string, "immutable" | "stable" | "volatile">;

/** Functions of PostgreSQL in our statements that are not immutable; a few more are named to be found in time. */
const stable_functions: ReadonlySet<string> = new Set(
  `now statement_timestamp transaction_timestamp date_trunc date_part to_char to_timestamp to_date age
   json_build_object json_build_array jsonb_build_object jsonb_build_array to_json to_jsonb row_to_json concat concat_ws
   format array_to_string json_agg jsonb_agg json_object_agg jsonb_object_agg jsonb_populate_record
   json_populate_record json_populate_recordset jsonb_populate_recordset current_setting`.split(
    /\s+/,
  ),
);
const volatile_functions: ReadonlySet<string> = new Set(
  "clock_timestamp timeofday random gen_random_uuid nextval setval currval lastval set_config pg_sleep".split(
    " ",
  ),
);

/** Returns the violations of one statement, given as its levels. */
export function statementProblems(
  levels: readonly Level[],
  volatilities: Volatilities,
  isVariable: IsVariable,
): Problem[] {
  const statement = levels[0]?.fields;
  if (statement === undefined) return [];
  const problems: Problem[] = [];
  if (nodesOf(statement, "CaseExpr").some(({ arg }) => arg !== undefined))
    problems.push({ rule: "simple-case", text: "has `case x when`: write `case when x =`" });
  if (
    nodesOf(statement, "withClause").some((ctes) => ctes["recursive"] === true) &&
    tableKindsOf(levels).has("tenant")
  )
    problems.push({ rule: "recursive", text: "is recursive over tenant tables" });
  if (nodesOf(statement, "returningClause").some((list) => nodesOf(list, "SubLink").length > 0))
    problems.push({ rule: "subquery-in-returning", text: "has a subquery in RETURNING" });
  if (levels.some(hasSubqueryInValues))
    problems.push({ rule: "subquery-in-insert", text: "has a subquery in the VALUES of INSERT" });
  problems.push(...levels.flatMap(lookUpProblems));
  const kinds = tableKindsOf(levels);
  if (kinds.has("tenant")) problems.push(...perRowProblems(statement, volatilities, isVariable));
  if (kinds.has("tenant") || kinds.has("reference"))
    problems.push(...levels.flatMap((level) => changeProblems(level, volatilities, isVariable)));
  return problems;
}

/** Citus refuses it for a tenant table, also within a function. */
function hasSubqueryInValues({ kind, target, fields }: Level): boolean {
  if (kind !== "InsertStmt" || target !== "tenant") return false;
  const source = fieldsOf(fields["selectStmt"], "SelectStmt");
  return nodesOf(listOf(source, "valuesLists"), "SubLink").length > 0;
}

/** A query of a tenant table that reads the rows of a function beside it. */
function lookUpProblems(level: Level): Problem[] {
  if (![...level.tables.values()].includes("tenant")) return [];
  const beside = enclosing(level).flatMap(({ functions }) => [...functions]);
  const used = new Set(
    nodesOf(level.fields, "ColumnRef").map((column) => nameParts(listOf(column, "fields"))[0]),
  );
  const rows = beside.find((name) => used.has(name));
  if (rows === undefined) return [];
  return [
    {
      rule: "look-up-beside-rows",
      text: `looks up ${[...level.tables.keys()].join(", ")} for each row of ${rows}`,
    },
  ];
}

function enclosing({ parent }: Level): Level[] {
  return parent === null ? [] : [parent, ...enclosing(parent)];
}

function perRowProblems(
  statement: Fields,
  volatilities: Volatilities,
  isVariable: IsVariable,
): Problem[] {
  return nodesOf(statement, "FuncCall").flatMap((call): Problem[] => {
    const name = calledName(call);
    const volatility = volatilities.get(name);
    if (volatility === undefined || volatility === "immutable") return [];
    if (!readsColumn(listOf(call, "args"), isVariable)) return [];
    return [{ rule: "function-per-row", text: `calls ${name} for each row` }];
  });
}

/** What an UPDATE, a DELETE or an ON CONFLICT computes is the same on each node. */
function changeProblems(
  level: Level,
  volatilities: Volatilities,
  isVariable: IsVariable,
): Problem[] {
  const { fields } = level;
  const clause = level.kind === "InsertStmt" ? fields["onConflictClause"] : fields;
  if (level.kind === "SelectStmt" || !isFields(clause)) return [];
  const changes = [clause["targetList"], clause["whereClause"]];
  const problems: Problem[] = [];
  const report = (text: string) => problems.push({ rule: "changing-function", text });
  walk(changes, (kind, node) => {
    if (kind === "SelectStmt") return false;
    if (kind === "FuncCall") {
      const name = calledName(node);
      const volatility = volatilities.get(name);
      if (volatility === "volatile" || volatile_functions.has(name))
        report(`changes rows by ${name}()`);
      else if (volatility === "stable" || stable_functions.has(name))
        if (readsColumn(node["args"], isVariable)) report(`changes rows by ${name}() of a column`);
    } else if (kind === "A_Expr" && isStableArithmetic(node) && readsColumn(node, isVariable))
      report("changes rows by a column and an interval");
    return true;
  });
  return problems;
}

/** Adding an interval to a time with time zone depends on the session's time zone; to one `at time zone`, it does not. */
function isStableArithmetic(expression: Fields): boolean {
  const operator = nameParts(listOf(expression, "name"))[0];
  const sides = [expression["lexpr"], expression["rexpr"]];
  return (operator === "+" || operator === "-") && sides.some(isInterval) && !sides.some(isLocal);
}

function isLocal(expression: unknown): boolean {
  const call = fieldsOf(expression, "FuncCall");
  return call !== undefined && calledName(call) === "timezone";
}

function isInterval(expression: unknown): boolean {
  const cast = fieldsOf(expression, "TypeCast");
  const type = cast?.["typeName"];
  if (isFields(type)) return nameParts(listOf(type, "names")).at(-1) === "interval";
  const product = fieldsOf(expression, "A_Expr");
  return product !== undefined && (isInterval(product["lexpr"]) || isInterval(product["rexpr"]));
}

/** Whether it differs by row. A subquery is evaluated once. */
function readsColumn(tree: unknown, isVariable: IsVariable): boolean {
  let found = false;
  walk([tree], (kind, fields) => {
    if (kind === "ColumnRef" && !isParameter({ ColumnRef: fields }, isVariable)) found = true;
    return kind !== "SelectStmt";
  });
  return found;
}
