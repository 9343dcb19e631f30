// A flow in a form: its buttons are lines.
import type { ChatFlow, Opening } from "../../api/flows.ts";
import type { FormField, FormValues } from "../../ui/form-fields.tsx";

const head: readonly FormField[] = [
  { name: "name", label: "Name", kind: "text", note: "Only your team sees it." },
  { name: "active", label: "Campaigns may use it", kind: "check" },
];

const message: readonly FormField[] = [
  { name: "opening.header", label: "Title", kind: "text", empty: "None" },
  {
    name: "opening.body",
    label: "Text",
    kind: "long",
    note: "{{1}} or {{name}} stand for what differs for each recipient.",
  },
  { name: "opening.footer", label: "Small print", kind: "text", empty: "None" },
  { name: "opening.buttons", label: "Buttons", kind: "lines", note: "One a line, at most three." },
];

export const new_flow_fields: readonly FormField[] = [...head, ...message];

/** Returns the fields that the form can edit; templates, lists and forms are edited through the API. */
export const fieldsOf = ({ opening: { type, list, flow } }: ChatFlow): readonly FormField[] =>
  type === "template" || list || flow ? head : new_flow_fields;

/** A flow as the form shows it. */
export const formOf = ({ opening, ...flow }: ChatFlow): FormValues => ({
  ...flow,
  opening: { ...opening, buttons: (opening.buttons ?? []).map(({ title }) => title) },
});

/** Returns the flow in the form's values; fields of `known` that the form lacks are kept. */
export function flowOf({ opening, ...json }: FormValues, known?: ChatFlow): FormValues {
  if (opening === undefined) return json;
  const said = opening as FormValues;
  const titles = said["buttons"] as readonly string[];
  const buttons: Opening["buttons"] = titles.map(
    (title) => known?.opening.buttons?.find((one) => one.title === title) ?? { title },
  );
  const texts = [said["header"], said["body"], said["footer"]].join(" ");
  // The API refuses defaults of placeholders that are gone.
  const defaults = Object.entries(known?.opening.variable_defaults ?? {}).filter(([key]) =>
    new RegExp(`\\{\\{\\s*${key}\\s*\\}\\}`).test(texts),
  );
  return {
    ...json,
    opening: {
      ...said,
      type: "interactive",
      buttons: buttons.length === 0 ? null : buttons,
      ...(defaults.length > 0 ? { variable_defaults: Object.fromEntries(defaults) } : {}),
    },
  };
}
