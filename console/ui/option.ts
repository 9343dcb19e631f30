/** One choice of a select. */
export type Option<Value extends string | number = string | number> = {
  readonly value: Value;
  readonly label: string;
};

/** Adds the chosen resource, by its kind and id, if it was removed or is not loaded: it stays chosen, and can be changed. */
export function withChosen(
  options: readonly Option<number>[],
  chosen: number | null,
  kind: string,
): readonly Option<number>[] {
  if (chosen === null || options.some(({ value }) => value === chosen)) return options;
  return [...options, { value: chosen, label: `${kind} ${chosen}` }];
}
