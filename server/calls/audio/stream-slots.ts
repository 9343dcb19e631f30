import type { Readable } from "node:stream";
import { Refusal } from "../../lib/errors.ts";

/** A limit on streams that are open at once, of which no account has more than a share. */
export type StreamSlots = {
  /**
   * Opens a stream, which has its slot until it closes. Never waits, because a stream lasts as long as its reader likes.
   * Refuses: rate-limited beyond the account's share, unavailable without a free slot.
   */
  open<Stream extends Readable>(accountId: number, open: () => Promise<Stream>): Promise<Stream>;
};

const headers = { "retry-after": "5" };

/** Opens `slots_max` slots, at most `of_account_max` per account. `streams` is their name in a refusal. */
export function openStreamSlots(
  streams: string,
  { slots_max, of_account_max }: { readonly slots_max: number; readonly of_account_max: number },
): StreamSlots {
  const taken = new Map<number, number>();
  let all = 0;
  const add = (accountId: number, count: number) => {
    const sum = (taken.get(accountId) ?? 0) + count;
    if (sum === 0) taken.delete(accountId);
    else taken.set(accountId, sum);
    all += count;
  };
  return {
    async open(accountId, open) {
      if ((taken.get(accountId) ?? 0) >= of_account_max)
        throw new Refusal(
          "rate-limited",
          `This account has the maximum of ${of_account_max} open ${streams}; try again when one has ended`,
          { headers },
        );
      if (all >= slots_max)
        throw new Refusal(
          "unavailable",
          `This process has the maximum of ${slots_max} open ${streams}; try again shortly`,
          { headers },
        );
      add(accountId, 1);
      try {
        const stream = await open();
        if (stream.closed) add(accountId, -1);
        else stream.once("close", () => add(accountId, -1));
        return stream;
      } catch (error) {
        add(accountId, -1);
        throw error;
      }
    },
  };
}
