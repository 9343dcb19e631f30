// Group commit: items of one key (an account, a chat number) that arrive while a batch of that key is being
// written form the next batch. It uses no timer, so an idle process adds no delay.
import { isDatabaseUnavailable } from "../lib/database/database-errors.ts";
import { unavailable } from "../lib/errors.ts";
import { jointCause, traced, traceparent } from "../lib/tracing/tracing.ts";

export type GroupCommit<Key, Item, Answer> = {
  /**
   * Resolves with the item's own answer once its batch is written. Rejects with 503 when too many items
   * wait, at once, or when the database is unavailable, and otherwise as `writeAlone` does.
   */
  commit(key: Key, item: Item): Promise<Answer>;
  /**
   * Like `commit` for each item. Those of a group are admitted together, however many they are, if there is room for
   * one, and otherwise rejected together.
   */
  commitAll(items: readonly (readonly [Key, Item])[]): Promise<Answer>[];
  /** Items that are in no batch yet. */
  waiting(): number;
};

/** A limit that is not given does not apply. */
export type GroupCommitLimits = {
  /** Keys written concurrently, with one batch each. */
  readonly lanes?: number;
  readonly batch_items: number;
  readonly batch_characters?: number;
  /** Of all groups together. */
  readonly waiting_items?: number;
  readonly waiting_characters?: number;
  /** Of one group, so that the others find room. */
  readonly group_waiting_items?: number;
  readonly group_waiting_characters?: number;
};

export type GroupCommitOptions<Key, Item, Answer> = {
  /** What the items are, in the plural: for the error when too many wait. */
  readonly name: string;
  readonly limits: GroupCommitLimits;
  /** Characters of an item. */
  readonly lengthOf?: (item: Item) => number;
  /** What shares the limits of a group with the item; its key if it is not given. */
  readonly groupOf?: (item: Item) => string | number;
  /** Writes a batch, all or nothing. The answers are in the order of the items; undefined: not written. */
  readonly write: (key: Key, items: readonly Item[]) => Promise<readonly (Answer | undefined)[]>;
  /** Writes one item whose batch failed or left it out, so that it does not fail its neighbours. */
  readonly writeAlone: (key: Key, item: Item) => Promise<Answer>;
};

type Waiting<Item, Answer> = {
  readonly item: Item;
  readonly length: number;
  readonly group: unknown;
  /** The span that waits for it. */
  readonly cause: string | undefined;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
};

/** Opens a group commit. It needs no stop: callers that await their answers also await the batches. */
export function openGroupCommit<Key, Item, Answer>(
  options: GroupCommitOptions<Key, Item, Answer>,
): GroupCommit<Key, Item, Answer> {
  const { name, lengthOf = () => 0, groupOf } = options;
  const limits = { ...unlimited, ...options.limits };
  // In the order of service: a key that was served goes to the end.
  const queues = new Map<Key, Waiting<Item, Answer>[]>();
  /** Keys with a batch in flight. */
  const busy = new Set<Key>();
  const load = openLoad(limits);
  let lanes = 0;

  const takeBatch = (): [Key, Waiting<Item, Answer>[]] | null => {
    for (const [key, queue] of queues) {
      if (busy.has(key)) continue;
      busy.add(key);
      queues.delete(key);
      const batch = queue.splice(0, countBatch(queue, limits));
      if (queue.length > 0) queues.set(key, queue);
      for (const { group, length } of batch) load.add(group, -1, -length);
      return [key, batch];
    }
    return null;
  };

  const runLane = async () => {
    let next = takeBatch();
    while (next) {
      const [key, batch] = next;
      const settle = await writeTraced(options, key, batch);
      busy.delete(key);
      next = takeBatch();
      // The next batch is sent first: rendering the responses of 30 leads takes a millisecond, during
      // which PostgreSQL would be idle.
      if (next) setImmediate(settle);
      else settle();
    }
    lanes--;
  };

  const add = (key: Key, item: Item, group: unknown): Promise<Answer> => {
    const queue = queues.get(key);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const entry = { item, length: lengthOf(item), group, cause: traceparent(), resolve, reject };
    if (queue) queue.push(entry);
    else queues.set(key, [entry]);
    load.add(group, 1, entry.length);
    if (!queue && !busy.has(key) && lanes < limits.lanes) {
      lanes++;
      // After this iteration of the event loop, so that items that arrive in it share a batch.
      setImmediate(() => void runLane());
    }
    return promise;
  };

  const commitAll = (items: readonly (readonly [Key, Item])[]): Promise<Answer>[] => {
    const groups = items.map(([key, item]) => groupOf?.(item) ?? key);
    const full = new Set<unknown>(groups.filter((group) => load.isFull(group)));
    return items.map(([key, item], i) =>
      full.has(groups[i])
        ? Promise.reject(unavailable(new Error(`too many ${name} wait for the database`)))
        : add(key, item, groups[i]),
    );
  };

  return { commit: (key, item) => commitAll([[key, item]])[0]!, commitAll, waiting: load.items };
}

const unlimited = {
  lanes: Infinity,
  batch_characters: Infinity,
  waiting_items: Infinity,
  waiting_characters: Infinity,
  group_waiting_items: Infinity,
  group_waiting_characters: Infinity,
};

/** Counts the waiting items and their characters, of all and of each group. */
function openLoad(limits: Required<GroupCommitLimits>) {
  const all = { items: 0, characters: 0 };
  const groups = new Map<unknown, typeof all>();
  return {
    items: () => all.items,
    add(group: unknown, items: number, characters: number): void {
      const own = groups.get(group) ?? { items: 0, characters: 0 };
      for (const load of [all, own]) {
        load.items += items;
        load.characters += characters;
      }
      if (own.items > 0) groups.set(group, own);
      else groups.delete(group);
    },
    isFull(group: unknown): boolean {
      const own = groups.get(group) ?? { items: 0, characters: 0 };
      return (
        all.items >= limits.waiting_items ||
        all.characters >= limits.waiting_characters ||
        own.items >= limits.group_waiting_items ||
        own.characters >= limits.group_waiting_characters
      );
    },
  };
}

/** Returns how many of the first items form a batch: at least one. */
function countBatch(
  queue: readonly { readonly length: number }[],
  { batch_items, batch_characters }: Required<GroupCommitLimits>,
): number {
  let sum = 0;
  const first = queue.slice(0, batch_items);
  const end = first.findIndex(({ length }, i) => (sum += length) > batch_characters && i > 0);
  return end < 0 ? first.length : end;
}

function writeTraced<Key, Item, Answer>(
  options: GroupCommitOptions<Key, Item, Answer>,
  key: Key,
  batch: readonly Waiting<Item, Answer>[],
): Promise<() => void> {
  const place = jointCause(batch.map(({ cause }) => cause));
  return traced(`write ${options.name}`, place, () => writeBatch(options, key, batch));
}

/** Writes a batch and returns a function that settles its items. Never throws. */
async function writeBatch<Key, Item, Answer>(
  { write, writeAlone }: GroupCommitOptions<Key, Item, Answer>,
  key: Key,
  batch: readonly Waiting<Item, Answer>[],
): Promise<() => void> {
  let answers: readonly (Answer | undefined)[] = [];
  try {
    const items = batch.map(({ item }) => item);
    answers = await write(key, items);
  } catch (error) {
    // The connection may have failed during the commit, so it is unknown whether the batch was written.
    if (isDatabaseUnavailable(error))
      return () => {
        for (const { reject } of batch) reject(unavailable(error));
      };
  }
  for (const [i, { item, resolve, reject }] of batch.entries()) {
    if (answers[i] !== undefined) continue;
    await writeAlone(key, item).then(resolve, (error: unknown) =>
      reject(isDatabaseUnavailable(error) ? unavailable(error) : error),
    );
  }
  return () => {
    for (const [i, { resolve }] of batch.entries())
      if (answers[i] !== undefined) resolve(answers[i]);
  };
}
