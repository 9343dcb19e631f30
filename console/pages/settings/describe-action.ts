/** Says an action of the audit trail in words: `voice_file.created` as "Voice file created". */
export function describeAction(action: string): string {
  const words = action.replaceAll(/[._]/g, " ").replace(/^ai /, "AI ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns the detail of an entry as labels and values in words. */
export function describeDetail(
  detail: Readonly<Record<string, unknown>>,
  formatTime: (at: string) => string,
): readonly (readonly [label: string, value: string])[] {
  return Object.entries(detail).map(([name, value]) => [
    describeAction(name),
    valueOf(value, formatTime),
  ]);
}

function valueOf(value: unknown, formatTime: (at: string) => string): string {
  if (value === null || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value))
    return value.length === 0 ? "none" : value.map((one) => valueOf(one, formatTime)).join(", ");
  if (typeof value === "object")
    return describeDetail(value as Record<string, unknown>, formatTime)
      .map(([label, inner]) => `${label} ${inner}`)
      .join(", ");
  if (typeof value !== "string") return JSON.stringify(value);
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? formatTime(value) : value;
}
