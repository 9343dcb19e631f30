// What the sections of the account's settings have in common: each is a form that is saved by itself.
import { useMutation } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useEffect, useState, type ReactNode } from "react";
import { useForm } from "react-hook-form";
import type { Account } from "../../api/account.ts";
import { api, body } from "../../api/client.ts";
import { reloadMe } from "../../api/me.ts";
import { queryClient } from "../../api/query-client.ts";
import { Button } from "../../ui/button.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { showFormErrors, type FormValues } from "../../ui/form-fields.tsx";
import { Panel } from "../../ui/panel.tsx";
import { toasts } from "../../ui/toasts.tsx";

export type SectionProps = {
  readonly account: Account;
  /** Reports whether something of the section is not saved. */
  readonly onChanged: (isChanged: boolean) => void;
};

type Options = {
  /** What the fields show at first. */
  readonly values: FormValues;
  /** As the API names them within the section. */
  readonly names: readonly string[];
  /** Null: fields of the account itself. */
  readonly section: "chat" | "calls" | "credits" | "retention" | null;
  /** Returns what the values change in the section, if anything; `saved` is what the fields showed at first. */
  readonly patchOf: (values: FormValues, saved: FormValues) => FormValues;
  readonly onChanged: SectionProps["onChanged"];
};

export type SettingForm = ReturnType<typeof useSettingForm>;

/** Keeps the values of a section and saves them. */
export function useSettingForm({ values: known, names, section, patchOf, onChanged }: Options) {
  const form = useForm<FormValues>({ defaultValues: known });
  const { isDirty, defaultValues } = form.formState;
  useEffect(() => onChanged(isDirty), [isDirty]);
  const router = useRouter();
  const [error, setError] = useState<Error | null>(null);
  const save = useMutation({
    mutationFn: async (values: FormValues) => {
      const json = patchOf(values, defaultValues as FormValues);
      if (Object.keys(json).length === 0) return null;
      const patch = section === null ? json : { [section]: json };
      return body(api.PATCH("/api/v1/account", { body: patch }));
    },
    onMutate: () => setError(null),
    onSuccess: async (changed, values) => {
      form.reset(values, { keepValues: true });
      toasts.add({ title: "Saved" });
      if (!changed) return;
      queryClient.setQueryData(["account"], changed);
      // The name and the time zone are shown everywhere.
      await reloadMe();
      await router.invalidate();
    },
    onError: (caught) => setError(showFormErrors(caught, names, form.setError, section)),
  });
  return { ...form, save, error };
}

/** A section: its fields, what refused it as a whole, and its button. */
export function SettingPanel({
  title,
  text,
  form: { handleSubmit, save, error },
  children,
}: {
  readonly title: string;
  readonly text?: ReactNode;
  readonly form: SettingForm;
  readonly children: ReactNode;
}) {
  return (
    <form
      noValidate
      onSubmit={(event) => void handleSubmit((values) => save.mutate(values))(event)}
    >
      <Panel title={title}>
        {text && <p className="text-muted">{text}</p>}
        {children}
        <FormError error={error} />
        <FormActions submit={handleSubmit((values) => save.mutateAsync(values))} align="start">
          <Button kind="primary" type="submit" busy={save.isPending}>
            Save
          </Button>
        </FormActions>
      </Panel>
    </form>
  );
}

/** What keeps a chosen value from working, in the hint of its field. */
export function Warning({ children }: { readonly children: ReactNode }) {
  return <span className="text-warning mt-1 block">{children}</span>;
}
