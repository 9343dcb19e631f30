// Which alterations of an existing table a migration may make: those that hold its lock for an instant, and of these,
// without a marker, those that processes of the previous version do not notice.
import type { AlterTableStmt, ColumnDef, Constraint, Node } from "libpg-query";
import type { MigrationState, Problem } from "./migrations.ts";

/** Alterations that neither read the table nor change what processes of the previous version see. */
const harmless = new Set(["AT_SetRelOptions", "AT_ResetRelOptions", "AT_SetStatistics"]);

/** Returns what is wrong with an `alter table`, and records what it does; null if nothing is wrong. */
export function alterationProblem(alter: AlterTableStmt, state: MigrationState): Problem | null {
  const table = alter.relation!.relname!;
  const commands = (alter.cmds ?? []).flatMap((cmd) =>
    "AlterTableCmd" in cmd ? [cmd.AlterTableCmd] : [],
  );
  // Citus refuses several, and constraints without a name, also on a table that was created before.
  if (commands.length !== 1) return { text: "write one subcommand per ALTER TABLE" };
  if (commands[0]!.subtype === "AT_AddConstraint" && nameOf(commands[0]!.def) === undefined)
    return { text: "a constraint needs a name" };
  if (state.created.has(table)) return null;
  state.locked.add(table);
  if (!state.per_statement && state.locked.size > 1)
    return {
      text: `keeps ${[...state.locked].join(" and ")} locked together: use a migration for each, or \`-- transaction: per statement\``,
    };
  const { subtype, name = "", def } = commands[0]!;
  switch (subtype) {
    case "AT_AddColumn":
      return addedColumnProblem(table, (def as { ColumnDef: ColumnDef }).ColumnDef, state);
    case "AT_AddConstraint":
      return addedConstraintProblem(table, (def as { Constraint: Constraint }).Constraint, state);
    case "AT_ValidateConstraint":
      return validationProblem(table, name, state);
    case "AT_ColumnDefault":
      return defaultProblem(state.added.get(`${table}.${name}`), def !== undefined);
    case "AT_SetNotNull":
      return state.checked_columns.has(`${table}.${name}`)
        ? null
        : {
            text: `reads the whole table under a lock: first add \`check (${name} is not null) not valid\` and validate it in this migration`,
          };
    case "AT_DropNotNull":
      return state.added.has(`${table}.${name}`)
        ? null
        : { text: "processes of the previous version do not expect a null", contract: true };
    case "AT_DropConstraint":
      return state.constraints.has(`${table}.${name}`)
        ? null
        : {
            text: "processes of the previous version may read rows that it refused, or need it for `on conflict`",
            contract: true,
          };
    case "AT_DropColumn":
      return { text: "processes of the previous version may use it", contract: true };
    case "AT_AlterColumnType":
      return { text: "rewrites the table under a lock: add a new column, fill it, then use it" };
    default:
      return harmless.has(subtype!)
        ? null
        : { text: `${subtype} is not an alteration that this check knows to be safe` };
  }
}

function nameOf(def: Node | undefined): string | undefined {
  return def && "Constraint" in def ? def.Constraint.conname : undefined;
}

function addedColumnProblem(
  table: string,
  { colname, constraints = [], typeName }: ColumnDef,
  state: MigrationState,
): Problem | null {
  const added = constraints.flatMap((node) => ("Constraint" in node ? [node.Constraint] : []));
  if (textOf(typeName?.names?.at(-1))?.endsWith("serial"))
    return { text: "a new serial column rewrites the table" };
  const default_value = added.find(({ contype }) => contype === "CONSTR_DEFAULT");
  for (const { contype } of added) {
    if (contype === "CONSTR_NULL" || contype === "CONSTR_DEFAULT") continue;
    if (contype === "CONSTR_NOTNULL" && default_value) continue;
    if (contype === "CONSTR_NOTNULL") return { text: "a column that is not null needs a default" };
    return {
      text: "reads or rewrites the whole table: add the column alone, then a named constraint as NOT VALID",
    };
  }
  if (default_value && !isConstant(default_value.raw_expr))
    return { text: "a default that is not a constant may rewrite the table: set it afterwards" };
  state.added.set(`${table}.${colname}`, { has_default: default_value !== undefined });
  return null;
}

/** A column without a default stays null in rows of the previous version, or refuses them. */
function defaultProblem(
  added: { has_default: boolean } | undefined,
  is_set: boolean,
): Problem | null {
  if (added) added.has_default = is_set;
  return added || is_set
    ? null
    : { text: "processes of the previous version may insert rows without a value", contract: true };
}

function isConstant(expression: Node | undefined): boolean {
  if (!expression) return false;
  if ("TypeCast" in expression) return isConstant(expression.TypeCast.arg);
  if ("A_ArrayExpr" in expression) return (expression.A_ArrayExpr.elements ?? []).every(isConstant);
  return "A_Const" in expression;
}

function addedConstraintProblem(
  table: string,
  constraint: Constraint,
  state: MigrationState,
): Problem | null {
  const { conname, contype, skip_validation, indexname } = constraint;
  state.constraints.add(`${table}.${conname}`);
  if (contype === "CONSTR_UNIQUE" || contype === "CONSTR_PRIMARY")
    // What breaks the previous version is the index.
    return indexname === undefined
      ? { text: "builds an index under a lock: build it concurrently, then add it `using index`" }
      : null;
  if (contype !== "CONSTR_CHECK" && contype !== "CONSTR_FOREIGN")
    return { text: `${contype} is not a constraint that this check knows to be safe` };
  if (!skip_validation)
    return {
      text: "reads the whole table under a lock: add NOT VALID, and validate it in a statement of its own",
    };
  const column = notNullColumn(constraint.raw_expr);
  if (column !== null) state.null_checks.set(`${table}.${conname}`, `${table}.${column}`);
  return isUnnoticed(table, constraint, state)
    ? null
    : { text: "refuses what the previous version may write, from now on", contract: true };
}

/** Whether a check or reference is of columns that only this version writes. */
function isUnnoticed(table: string, constraint: Constraint, { added }: MigrationState): boolean {
  const addedOf = (column: string) => added.get(`${table}.${column}`);
  if (constraint.contype === "CONSTR_CHECK") {
    const column = notNullColumn(constraint.raw_expr);
    if (column !== null) return addedOf(column)?.has_default === true;
    return columnsOf(constraint.raw_expr).every((name) => addedOf(name) !== undefined);
  }
  // A null refers to nothing. Without an action, the previous version could no longer delete the referenced rows.
  const columns = (constraint.fk_attrs ?? []).map((node) => textOf(node) ?? "");
  const isNull = columns.some((name) => addedOf(name)?.has_default === false);
  return isNull && /[cnd]/.test(constraint.fk_del_action ?? "");
}

/** The names of the columns in an expression, or of an index. */
export function columnsOf(part: unknown): string[] {
  if (typeof part !== "object" || part === null) return [];
  if ("ColumnRef" in part) return [textOf((part as ColumnNode).ColumnRef.fields?.at(-1)) ?? ""];
  if ("IndexElem" in part) {
    const { name, expr } = (part as IndexNode).IndexElem;
    return name === undefined ? columnsOf(expr) : [name];
  }
  return Object.values(part).flatMap(columnsOf);
}

type ColumnNode = Extract<Node, { ColumnRef: unknown }>;
type IndexNode = Extract<Node, { IndexElem: unknown }>;

/** The text of a name in a statement. */
export function textOf(node: Node | undefined): string | null {
  return node && "String" in node ? (node.String.sval ?? null) : null;
}

/** The column of `column is not null`, or null for another condition. */
function notNullColumn(condition: Node | undefined): string | null {
  if (!condition || !("NullTest" in condition)) return null;
  const { nulltesttype, arg } = condition.NullTest;
  if (nulltesttype !== "IS_NOT_NULL" || !arg || !("ColumnRef" in arg)) return null;
  return textOf(arg.ColumnRef.fields?.at(-1));
}

function validationProblem(table: string, name: string, state: MigrationState): Problem | null {
  if (!state.per_statement)
    return { text: "validates while the migration holds locks: use a migration per statement" };
  const column = state.null_checks.get(`${table}.${name}`);
  if (column !== undefined) state.checked_columns.add(column);
  return null;
}
