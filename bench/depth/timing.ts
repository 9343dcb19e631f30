import { percentile } from "../lib/figures.ts";
import type { Fixture, Name } from "./fixture.ts";

/** Times in ms. */
export type Timing = { readonly shortest: number; readonly p95: number };

/** By the name of what was measured. */
export type Timings = Readonly<Record<string, Timing>>;

/**
 * Runs each several times after a first time that is not measured. The other work of a busy machine affects the
 * shortest time least.
 */
export async function timeEach(
  works: Readonly<Record<string, () => Promise<unknown>>>,
  samples: number,
): Promise<Timings> {
  const timings: Record<string, Timing> = {};
  for (const [name, work] of Object.entries(works)) {
    await work();
    const times: number[] = [];
    for (let i = 0; i < samples; i++) {
      const began = performance.now();
      await work();
      times.push(performance.now() - began);
    }
    timings[name] = { shortest: Math.min(...times), p95: percentile(times, 95) };
  }
  return timings;
}

/**
 * Returns a function that sends a request of the account, and throws if it is refused; returns the ID of what was
 * created.
 */
export function requests({ service, account }: Fixture, name: Name) {
  const { token } = account(name);
  return async (
    method: string,
    path: string,
    json?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const answer = await service.send(method, `/api/v1${path}`, { token, json, headers });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body as { readonly id: number };
  };
}
