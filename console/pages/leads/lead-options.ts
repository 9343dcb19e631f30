import type { Option } from "../../ui/option.ts";

/** The options of a picklist, for a select. */
export const optionsOf = (
  picklist: readonly { readonly id: number; readonly label: string }[],
): Option<number>[] => picklist.map(({ id, label }) => ({ value: id, label }));
