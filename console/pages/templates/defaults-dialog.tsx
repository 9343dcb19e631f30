import type { Template } from "../../api/chat.ts";
import { updateTemplate } from "../../api/templates.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormField } from "../../ui/form-fields.tsx";

/** Edits the default values of a template's variables. */
export function DefaultsDialog({ template }: { readonly template: Template }) {
  const { id, variables, variable_defaults } = template;
  if (variables.length === 0) return null;
  const fields = variables.map(({ key }): FormField => ({
    name: key,
    label: `{{${key}}}`,
    kind: "text",
  }));
  return (
    <FormDialog
      title="Defaults of the variables"
      text="For recipients without a value of their own, in campaigns created from now on."
      fields={fields}
      known={variable_defaults}
      action="Save"
      save={(json) => {
        const given = Object.entries(json).filter(([, value]) => value !== "");
        return updateTemplate(id, {
          variable_defaults: Object.fromEntries(given) as Record<string, string>,
        });
      }}
      trigger={<Button>Defaults</Button>}
    />
  );
}
