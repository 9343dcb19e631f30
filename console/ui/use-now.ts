import { useEffect, useState } from "react";

/** Returns the time in milliseconds, read again at each interval; null: it stands still. */
export function useNow(every_ms: number | null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (every_ms === null) return;
    const timer = setInterval(() => setNow(Date.now()), every_ms);
    return () => clearInterval(timer);
  }, [every_ms]);
  return now;
}
