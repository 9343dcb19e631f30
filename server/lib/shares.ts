import { openSlots, type Slots } from "./slots.ts";

/** A bounded number of something at once, of which no single holder has more than a share. */
export type Shares = {
  /** Runs `work` when the holder's share and a slot are free; 503 when too many of the holder's wait already. */
  use<Answer>(holder: number, work: () => Promise<Answer>): Promise<Answer>;
};

/** `slots_max` run at once, `share_max` of one holder; `waiting_max` of a holder wait. */
export function openShares(slots_max: number, share_max: number, waiting_max: number): Shares {
  const holders = new Map<number, { slots: Slots; users: number }>();
  // Bounded all the same: each holder lets no more than its share come this far.
  const slots = openSlots(slots_max, Number.POSITIVE_INFINITY);
  return {
    async use(holder, work) {
      const share = holders.get(holder) ?? { slots: openSlots(share_max, waiting_max), users: 0 };
      holders.set(holder, share);
      share.users++;
      try {
        return await share.slots.use(() => slots.use(work));
      } finally {
        if (--share.users === 0) holders.delete(holder);
      }
    },
  };
}
