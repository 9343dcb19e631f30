import { useEffect, useState } from "react";

type Sample = { readonly at_ms: number; readonly done: number };

const window_ms = 30_000;
const shortest_ms = 2_000;

/** Returns how many messages a second got an outcome lately, measured on this page; null until it is known. */
export function usePace(done: number): number | null {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEffect(() => {
    const at_ms = performance.now();
    setSamples((old) => [
      ...old.filter((sample) => sample.at_ms > at_ms - window_ms),
      { at_ms, done },
    ]);
    // Without an outcome for the whole window there is no pace.
    const timer = setTimeout(() => setSamples([{ at_ms: performance.now(), done }]), window_ms);
    return () => clearTimeout(timer);
  }, [done]);
  const first = samples[0];
  const last = samples.at(-1);
  if (!first || !last || last.at_ms - first.at_ms < shortest_ms) return null;
  const pace = (last.done - first.done) / ((last.at_ms - first.at_ms) / 1_000);
  return pace > 0 ? pace : null;
}
