const whole = new Intl.NumberFormat();
const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

/** 48210 as "48,210". */
export const formatCount = (count: number): string => whole.format(count);

/** A count that ends at a maximum: 48210 as "48,210", the maximum 100000 as "100,000+". */
export const formatUpTo = (count: number, max: number): string =>
  `${formatCount(count)}${count < max ? "" : "+"}`;

/** 1 as "1 lead", 48210 as "48,210 leads". */
export const formatCountOf = (count: number, one: string, many: string): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** A share of a total as "12.5%"; a dash of nothing. */
export const formatShare = (part: number, total: number): string =>
  total === 0 ? "–" : percent.format(part / total);

/** 83000 as "1:23". */
export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
