/** Formats JSON with sorted keys: equal parsed values have the same text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, child: unknown) => {
    if (typeof child !== "object" || child === null || Array.isArray(child)) return child;
    return Object.fromEntries(Object.entries(child).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
