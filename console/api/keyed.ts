/** The header of a request whose repetition under the same key has no second effect. */
export const keyed = (key: string) => ({ header: { "idempotency-key": key } });
