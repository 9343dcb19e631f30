// Finds import cycles between files (Tarjan's strongly connected components).

/** Returns every group of files that import one another in a circle, in no particular order. */
export function findCycles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const indexes = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];

  function visit(file: string): number {
    const index = indexes.size;
    indexes.set(file, index);
    lowest.set(file, index);
    stack.push(file);
    for (const imported of imports.get(file) ?? []) {
      const reached = indexes.has(imported)
        ? stack.includes(imported)
          ? (indexes.get(imported) ?? index)
          : index
        : visit(imported);
      lowest.set(file, Math.min(lowest.get(file) ?? index, reached));
    }
    if (lowest.get(file) === index) {
      const group = stack.splice(stack.indexOf(file));
      if (group.length > 1) cycles.push(group);
    }
    return lowest.get(file) ?? index;
  }

  for (const file of imports.keys()) if (!indexes.has(file)) visit(file);
  return cycles;
}
