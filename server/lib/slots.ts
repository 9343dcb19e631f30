import { unavailable } from "./errors.ts";

/** A limit on concurrent work, with a bounded queue. */
export type Slots = {
  /** Runs `work` when a slot is free; 503 if too many are waiting. */
  use<Answer>(work: () => Promise<Answer>): Promise<Answer>;
};

/** Opens `slots_max` slots with a queue of `waiting_max`, first come, first served. */
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
