/** Formats JSON with sorted keys: equal parsed values have the same text. `replace` may replace the value of a key. */
export function canonicalJson(
  value: unknown,
  replace: (key: string, child: unknown) => unknown = (_key, child) => child,
): string {
  return JSON.stringify(value, (key, given: unknown) => {
    const child = replace(key, given);
    if (typeof child !== "object" || child === null || Array.isArray(child)) return child;
    return Object.fromEntries(Object.entries(child).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
