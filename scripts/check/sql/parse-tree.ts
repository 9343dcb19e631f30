// Walks the parse trees of libpg-query.

/** The fields of a node. The parser's own types cannot be walked without naming each kind. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Visits the nodes below `tree`, parents first; `enter` returns false where the walk does not descend. A node is
 * named by its kind, or by the field that holds it where the parser omits the kind.
 */
export function walk(tree: unknown, enter: (kind: string, fields: Fields) => boolean): void {
  if (Array.isArray(tree)) {
    for (const item of tree) walk(item, enter);
  } else if (isFields(tree)) {
    for (const [key, value] of Object.entries(tree)) {
      if (!isFields(value)) walk(value, enter);
      else if (enter(kindOf(key, value), value)) walk(value, enter);
    }
  }
}

/** Returns the fields of the nodes of one kind below `tree`. */
export function nodesOf(tree: unknown, wanted: string): Fields[] {
  const found: Fields[] = [];
  walk(tree, (kind, fields) => {
    if (kind === wanted) found.push(fields);
    return true;
  });
  return found;
}

/** The sides of a set operation are the only statements without their kind. */
function kindOf(key: string, value: Fields): string {
  return (key === "larg" || key === "rarg") && "limitOption" in value ? "SelectStmt" : key;
}

/** Returns a node's fields if it is of the kind. */
export function fieldsOf(node: unknown, kind: string): Fields | undefined {
  const fields = isFields(node) ? node[kind] : undefined;
  return isFields(fields) ? fields : undefined;
}

/** Returns the items of a list field. */
export function listOf(fields: Fields | undefined, field: string): readonly unknown[] {
  const list = fields?.[field];
  return Array.isArray(list) ? list : [];
}

/** Returns the parts of a name, such as `l`, `account_id`; a star is `*`. */
export function nameParts(list: readonly unknown[]): string[] {
  return list.map((part) => {
    const sval = fieldsOf(part, "String")?.["sval"];
    return typeof sval === "string" ? sval : "*";
  });
}

/** Returns the column's name in parts, or undefined for another node. */
export function columnOf(node: unknown): string[] | undefined {
  const column = fieldsOf(node, "ColumnRef");
  return column && nameParts(listOf(column, "fields"));
}

/** Returns the name of the function that a FuncCall calls. */
export function calledName(call: Fields): string {
  return nameParts(listOf(call, "funcname")).at(-1) ?? "";
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
