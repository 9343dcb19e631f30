// Which alterations of an existing table a migration may make: those that hold its lock for an instant.
import type { AlterTableStmt, ColumnDef, Constraint, Node } from "libpg-query";
import type { MigrationState } from "./migrations.ts";

type Problem = {
  readonly text: string;
  /** A `-- contract:` comment allows it. */
  readonly contract?: true;
};

/** Alterations that neither read the table nor take anything from processes of the last version. */
const instant = new Set([
  "AT_ColumnDefault",
  "AT_DropNotNull",
  "AT_DropConstraint",
  "AT_SetRelOptions",
  "AT_ResetRelOptions",
  "AT_SetStatistics",
]);

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
      return addedColumnProblem((def as { ColumnDef: ColumnDef }).ColumnDef);
    case "AT_AddConstraint":
      return addedConstraintProblem(table, (def as { Constraint: Constraint }).Constraint, state);
    case "AT_ValidateConstraint":
      return validationProblem(table, name, state);
    case "AT_SetNotNull":
      return state.checked_columns.has(`${table}.${name}`)
        ? null
        : {
            text: `reads the whole table under a lock: first add \`check (${name} is not null) not valid\` and validate it in this migration`,
          };
    case "AT_DropColumn":
      return {
        text: "processes of the last version may use it: say why not in a comment `-- contract: ...` above",
        contract: true,
      };
    case "AT_AlterColumnType":
      return { text: "rewrites the table under a lock: add a new column, fill it, then use it" };
    default:
      return instant.has(subtype!)
        ? null
        : { text: `${subtype} is not an alteration that this check knows to be safe` };
  }
}

function nameOf(def: Node | undefined): string | undefined {
  return def && "Constraint" in def ? def.Constraint.conname : undefined;
}

function addedColumnProblem({ constraints = [], typeName }: ColumnDef): Problem | null {
  const added = constraints.flatMap((node) => ("Constraint" in node ? [node.Constraint] : []));
  const type = typeName?.names?.at(-1);
  if (type && "String" in type && type.String.sval?.endsWith("serial"))
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
  return null;
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
  if (contype === "CONSTR_UNIQUE" || contype === "CONSTR_PRIMARY")
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
  return null;
}

/** The column of `column is not null`, or null for another condition. */
function notNullColumn(condition: Node | undefined): string | null {
  if (!condition || !("NullTest" in condition)) return null;
  const { nulltesttype, arg } = condition.NullTest;
  if (nulltesttype !== "IS_NOT_NULL" || !arg || !("ColumnRef" in arg)) return null;
  const field = arg.ColumnRef.fields?.at(-1);
  return field && "String" in field ? (field.String.sval ?? null) : null;
}

function validationProblem(table: string, name: string, state: MigrationState): Problem | null {
  if (!state.per_statement)
    return { text: "validates while the migration holds locks: use a migration per statement" };
  const column = state.null_checks.get(`${table}.${name}`);
  if (column !== undefined) state.checked_columns.add(column);
  return null;
}
