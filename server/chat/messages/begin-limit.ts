/**
 * How long after the check of its recipient a message may begin: within a second of an opt-out or a cancellation no
 * request begins.
 */
export const begin_ms_max = 800;
