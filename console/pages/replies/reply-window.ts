import { useEffect, useState } from "react";

const window_ms = 24 * 3_600_000;
const minute_ms = 60_000;

/** Returns how many minutes WhatsApp still takes an answer to a message; 0: none. Changes as time passes. */
export function useMinutesLeft(received_at: string | undefined): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), minute_ms / 2);
    return () => clearInterval(timer);
  }, []);
  if (received_at === undefined) return 0;
  return Math.max(0, Math.ceil((Date.parse(received_at) + window_ms - now) / minute_ms));
}

/** Says how long: "23 h 59 min left". */
export function describeMinutes(minutes: number): string {
  if (minutes === 0) return "Closed";
  const hours = Math.floor(minutes / 60);
  return `${hours > 0 ? `${hours} h ` : ""}${minutes % 60} min left`;
}
