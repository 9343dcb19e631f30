/**
 * Returns `read` with its results shared: callers with the same key get the read in progress, or the result
 * or error of one that ended less than `fresh_ms` ago. Keys are compared by identity and not kept alive.
 */
export function openSharedReads<Key extends object, Value>(
  fresh_ms: number,
  read: (key: Key) => Promise<Value>,
): (key: Key) => Promise<Value> {
  const reads = new WeakMap<Key, { value: Promise<Value>; stale_at_ms: number }>();
  return (key) => {
    const last = reads.get(key);
    if (last && performance.now() < last.stale_at_ms) return last.value;
    const entry = { value: read(key), stale_at_ms: Number.POSITIVE_INFINITY };
    const end = () => void (entry.stale_at_ms = performance.now() + fresh_ms);
    entry.value.then(end, end);
    reads.set(key, entry);
    return entry.value;
  };
}
