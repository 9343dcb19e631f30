import { openSlots, type Slots } from "./slots.ts";

/** A limit on concurrent work, of which no holder, such as an account, has more than a share. */
export type Shares<Holder> = {
  /** Runs `work` when the holder's share and a slot are free; 503 if too many of the holder's are waiting. */
  use<Answer>(holder: Holder, work: () => Promise<Answer>): Promise<Answer>;
};

/** Opens `slots_max` slots, at most `share_max` per holder; at most `waiting_max` per holder wait. */
export function openShares<Holder = number>(
  slots_max: number,
  share_max: number,
  waiting_max: number,
): Shares<Holder> {
  const holders = new Map<Holder, { slots: Slots; users: number }>();
  // Bounded too: each holder's share limits what reaches this queue.
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
