/** One choice of a select. */
export type Option<Value extends string | number = string | number> = {
  readonly value: Value;
  readonly label: string;
};
