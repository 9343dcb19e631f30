// Interprets the text of a CSV cell as a custom field's value or a picklist option.
import type { CustomField, Picklist, WorkspaceSchema } from "../workspaces/workspace-schema.ts";

/**
 * Returns the value of a custom field. Text that is invalid for its type is returned as it is, and
 * validateLead reports it.
 */
export function customValue(field: CustomField, text: string): unknown {
  switch (field.type) {
    case "text":
    case "date":
      return text;
    case "number":
      return /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
    case "boolean":
      if (/^(?:true|yes|y|1)$/i.test(text)) return true;
      return /^(?:false|no|n|0)$/i.test(text) ? false : text;
    case "select":
      return choice(field, text);
    case "multiselect":
      return choices(field, text);
  }
}

/** A field has no more options. A cell may have 500,000 parts. */
const parts_max = 200;

/** Reads choices between semicolons, or the list that an export writes if a choice contains a semicolon. */
function choices(field: CustomField, text: string): string[] | string {
  const parts = text
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  if (parts.length > parts_max) return text;
  const known = parts.map((part) => choice(field, part));
  const areKnown = known.every((part) => field.options.includes(part));
  return areKnown ? known : (readList(text) ?? known);
}

function readList(text: string): string[] | null {
  if (!text.startsWith("[")) return null;
  try {
    const list: unknown = JSON.parse(text);
    const isOfTexts = Array.isArray(list) && list.every((entry) => typeof entry === "string");
    return isOfTexts ? list : null;
  } catch {
    return null;
  }
}

function choice(field: CustomField, text: string): string {
  if (field.options.includes(text)) return text;
  // The text of a cell is trimmed, the choice perhaps not.
  const trimmed = field.options.filter((option) => option.trim() === text);
  if (trimmed.length > 0) return trimmed.length === 1 ? trimmed[0]! : text;
  return optionsInAnyCase(field).get(text.toLowerCase()) ?? text;
}

type OptionsInAnyCase = ReadonlyMap<string, string | null>;
const options_in_any_case = new WeakMap<CustomField, OptionsInAnyCase>();

/** Returns the options by their lower-case text; null if several have it. Kept, because every cell needs them. */
function optionsInAnyCase(field: CustomField): OptionsInAnyCase {
  const kept = options_in_any_case.get(field);
  if (kept) return kept;
  const options = new Map<string, string | null>();
  for (const option of field.options) {
    const key = option.toLowerCase();
    options.set(key, options.has(key) ? null : option);
  }
  options_in_any_case.set(field, options);
  return options;
}

/**
 * Finds an option by label (what people see and an export has), value, ID, or label without outer blanks, in that
 * order. Text in exactly this spelling comes before text in another case; null if none or several match.
 */
export type FindOption = (picklist: Picklist, text: string) => number | null;

/** Returns a FindOption for one batch. It ignores archived options. */
export function openFindOption(schema: WorkspaceSchema): FindOption {
  const byText = new Map<string, number | null>();
  const usable = [...schema.options.values()].filter((option) => !option.archived);
  const add = (key: string, id: number) => void byText.set(key, byText.has(key) ? null : id);
  for (const { id, picklist, value, label } of usable) {
    const texts = { label, value, id: String(id), trimmed: label.trim() };
    for (const [kind, text] of Object.entries(texts)) {
      add(`${picklist} ${kind} exact ${text}`, id);
      add(`${picklist} ${kind} any ${text.toLowerCase()}`, id);
    }
  }
  return (picklist, text) => {
    for (const spelling of [`exact ${text}`, `any ${text.toLowerCase()}`]) {
      for (const kind of ["label", "value", "id", "trimmed"]) {
        const id = byText.get(`${picklist} ${kind} ${spelling}`);
        if (id !== undefined) return id;
      }
    }
    return null;
  };
}
