import { changedParts, FormInputs, jsonOf, valuesOf } from "../../ui/form-fields.tsx";
import type { SettingSection } from "./account-fields.ts";
import { SettingPanel, useSettingForm, type SectionProps } from "./setting-form.tsx";

/** One section of the account's settings, saved by itself. */
export function AccountSection({
  account,
  section: { title, section, fields },
  onChanged,
}: SectionProps & { readonly section: SettingSection }) {
  const form = useSettingForm({
    values: valuesOf(section === null ? account : account[section], fields),
    names: fields.map(({ name }) => name),
    section,
    patchOf: (values, saved) => changedParts(jsonOf(saved, fields), jsonOf(values, fields)),
    onChanged,
  });
  return (
    <SettingPanel title={title} form={form}>
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <FormInputs fields={fields} register={form.register} errors={form.formState.errors} />
      </div>
    </SettingPanel>
  );
}
