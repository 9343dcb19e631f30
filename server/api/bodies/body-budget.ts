// Bounds what bodies take, in memory or on disk, from their first byte until their answer.
import { unavailable } from "../../lib/errors.ts";

export type BodyBudget = {
  /**
   * Opens an empty body. Beyond a limit of its holder it is 503. Beyond a limit of all, the holder with the
   * most gives way: `cutOff` is called for its oldest body that is still arriving, maybe this one.
   */
  open(holder: string, cutOff: (why: Error) => void): HeldBody;
};

export type HeldBody = {
  /** Counts bytes that arrived. */
  add(bytes: number): void;
  /** Ends the arrival: the body is no longer cut off. */
  arrived(): void;
  release(): void;
};

export type BodyLimits = {
  readonly bodies_max: number;
  readonly bytes_max: number;
  readonly bodies_of_holder_max?: number;
  readonly bytes_of_holder_max?: number;
};

type Body = { bytes: number; is_arriving: boolean; readonly cutOff: (why: Error) => void };
/** Bodies in the order in which they were opened. */
type Holder = { bytes: number; readonly bodies: Set<Body> };

/** Opens a budget of a process. A holder is an account or, without one, an address. */
export function openBodyBudget(limits: BodyLimits): BodyBudget {
  const holders = new Map<string, Holder>();
  let bodies = 0;
  let bytes = 0;

  /** The arriving bodies of the holder that has the most. */
  const cutHeaviest = (weightOf: (holder: Holder) => number) => {
    let heaviest: Holder | null = null;
    let oldest: Body | null = null;
    for (const holder of holders.values()) {
      if (heaviest && weightOf(holder) <= weightOf(heaviest)) continue;
      for (const body of holder.bodies) {
        if (!body.is_arriving) continue;
        [heaviest, oldest] = [holder, body];
        break;
      }
    }
    if (oldest) cut(heaviest!, oldest, "bodies of all senders exceed their limit");
  };
  const cut = (holder: Holder, body: Body, why: string) => {
    remove(holder, body);
    body.cutOff(unavailable(new Error(why)));
  };
  const remove = (holder: Holder, body: Body) => {
    if (!holder.bodies.delete(body)) return;
    bodies--;
    bytes -= body.bytes;
    holder.bytes -= body.bytes;
  };

  return {
    open(name, cutOff) {
      const holder = holders.get(name) ?? { bytes: 0, bodies: new Set<Body>() };
      if (holder.bodies.size >= (limits.bodies_of_holder_max ?? Number.POSITIVE_INFINITY))
        throw unavailable(new Error("too many bodies of one sender"));
      const body: Body = { bytes: 0, is_arriving: true, cutOff };
      holders.set(name, holder);
      holder.bodies.add(body);
      if (++bodies > limits.bodies_max) cutHeaviest((each) => each.bodies.size);
      return {
        add(more) {
          if (!holder.bodies.has(body)) return;
          body.bytes += more;
          holder.bytes += more;
          bytes += more;
          if (holder.bytes > (limits.bytes_of_holder_max ?? Number.POSITIVE_INFINITY))
            cut(holder, body, "the bodies of one sender exceed their limit");
          else if (bytes > limits.bytes_max) cutHeaviest((each) => each.bytes);
        },
        arrived: () => void (body.is_arriving = false),
        release() {
          remove(holder, body);
          if (holder.bodies.size === 0 && holders.get(name) === holder) holders.delete(name);
        },
      };
    },
  };
}
