import { unavailable } from "./errors.ts";

/** A bounded number of something at once, and a bounded line before it. */
export type Slots = {
  /** Runs `work` when a slot is free; 503 when too many wait already. */
  use<Answer>(work: () => Promise<Answer>): Promise<Answer>;
};

/** `slots_max` run at once, `waiting_max` wait; first come, first served. */
export function openSlots(slots_max: number, waiting_max: number): Slots {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return {
    async use(work) {
      if (taken >= slots_max) {
        if (waiting.length >= waiting_max) throw unavailable(new Error("too many wait for a slot"));
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.push(resolve);
        await promise;
      } else taken++;
      try {
        return await work();
      } finally {
        // A slot goes from hand to hand.
        const next = waiting.shift();
        if (next) next();
        else taken--;
      }
    },
  };
}
