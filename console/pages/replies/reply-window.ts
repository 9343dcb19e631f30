import { useNow } from "../../ui/use-now.ts";

/** How long WhatsApp takes an answer to a message. */
export const window_ms = 24 * 3_600_000;
const minute_ms = 60_000;

/** Returns how many minutes WhatsApp still takes an answer to a message; 0: none. Changes as time passes. */
export function useMinutesLeft(received_at: string | undefined): number {
  const now = useNow(minute_ms / 2);
  if (received_at === undefined) return 0;
  // The browser's clock may be behind the server's.
  const left_ms = Math.min(window_ms, Date.parse(received_at) + window_ms - now);
  return Math.max(0, Math.ceil(left_ms / minute_ms));
}

/** Says how long: "23 h 59 min left to answer". */
export function describeMinutes(minutes: number): string {
  if (minutes === 0) return "Too late to answer";
  const hours = Math.floor(minutes / 60);
  const parts = [
    [hours, "h"],
    [minutes % 60, "min"],
  ] as const;
  const said = parts.flatMap(([count, unit]) => (count > 0 ? [`${count} ${unit}`] : []));
  return `${said.join(" ")} left to answer`;
}
