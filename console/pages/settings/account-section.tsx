import { useMutation } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useForm } from "react-hook-form";
import type { Account } from "../../api/account.ts";
import { api, body } from "../../api/client.ts";
import { reloadMe } from "../../api/me.ts";
import { queryClient } from "../../api/query-client.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import {
  FormInputs,
  jsonOf,
  showFormErrors,
  valuesOf,
  type FormValues,
} from "../../ui/form-fields.tsx";
import { Panel } from "../../ui/panel.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { toasts } from "../../ui/toasts.tsx";
import type { SettingSection } from "./account-fields.ts";

/** One section of the account's settings, saved by itself. */
export function AccountSection({
  account,
  section: { title, section, fields },
  onChanged,
}: {
  readonly account: Account;
  readonly section: SettingSection;
  /** Reports whether something of it is not saved. */
  readonly onChanged: (isChanged: boolean) => void;
}) {
  const { register, handleSubmit, setError, reset, formState } = useForm<FormValues>({
    defaultValues: valuesOf(section === null ? account : account[section], fields),
  });
  const { isDirty } = formState;
  useEffect(() => onChanged(isDirty), [isDirty]);
  const router = useRouter();
  const [formError, setFormError] = useState<Error | null>(null);
  const save = useMutation({
    mutationFn: (values: FormValues) => {
      const json = jsonOf(values, fields);
      const patch = section === null ? json : { [section]: json };
      return body(api.PATCH("/api/v1/account", { body: patch }));
    },
    onMutate: () => setFormError(null),
    onSuccess: async (changed, values) => {
      reset(values);
      queryClient.setQueryData(["account"], changed);
      toasts.add({ title: "Saved" });
      // The name and the time zone are shown everywhere.
      await reloadMe();
      await router.invalidate();
    },
    onError: (error) => setFormError(showFormErrors(error, fields, setError, section)),
  });
  return (
    <form
      noValidate
      onSubmit={(event) => void handleSubmit((values) => save.mutate(values))(event)}
    >
      <Panel title={title}>
        <div className="grid items-start gap-4 sm:grid-cols-2">
          <FormInputs fields={fields} register={register} errors={formState.errors} />
        </div>
        <FormError error={formError} />
        <FormActions submit={handleSubmit((values) => save.mutateAsync(values))} align="start">
          <Button kind="primary" type="submit" busy={save.isPending}>
            Save
          </Button>
        </FormActions>
      </Panel>
    </form>
  );
}
