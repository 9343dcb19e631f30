import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useForm, type UseFormRegister } from "react-hook-form";
import type { Account } from "../../api/account.ts";
import { api, body } from "../../api/client.ts";
import { ApiProblem } from "../../api/problem.ts";
import { queryClient } from "../../api/query-client.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { ShowCurl } from "../../ui/show-curl.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextAreaField } from "../../ui/text-area-field.tsx";
import { TextField } from "../../ui/text-field.tsx";
import { toasts } from "../../ui/toasts.tsx";
import type { SettingField, SettingSection } from "./account-fields.ts";

type Values = Record<string, string | boolean>;

/** One section of the account's settings, saved by itself. */
export function AccountSection({
  account,
  section: { title, section, fields },
}: {
  readonly account: Account;
  readonly section: SettingSection;
}) {
  const { register, handleSubmit, setError, formState } = useForm<Values>({
    defaultValues: valuesOf(section === null ? account : account[section], fields),
  });
  const [formError, setFormError] = useState<Error | null>(null);
  const save = useMutation({
    mutationFn: (values: Values) => {
      const json = jsonOf(values, fields);
      const patch = section === null ? json : { [section]: json };
      return body(api.PATCH("/api/v1/account", { body: patch }));
    },
    onMutate: () => setFormError(null),
    onSuccess: async (changed) => {
      queryClient.setQueryData(["account"], changed);
      toasts.add({ title: "Saved" });
      // The name and the time zone are shown everywhere.
      await queryClient.invalidateQueries({ queryKey: ["me"] });
    },
    onError: (error) =>
      setFormError(
        showFieldErrors(
          withoutSection(error, section),
          fields.map(({ name }) => name),
          setError,
        ),
      ),
  });
  return (
    <form
      noValidate
      onSubmit={(event) => void handleSubmit((values) => save.mutate(values))(event)}
    >
      <Panel title={title}>
        <div className="grid items-start gap-4 sm:grid-cols-2">
          {fields.map((field) => (
            <SettingInput
              key={field.name}
              field={field}
              register={register}
              error={formState.errors[field.name]?.message}
            />
          ))}
        </div>
        <FormError error={formError} />
        <ShowCurl submit={handleSubmit((values) => save.mutateAsync(values))} />
        <Button kind="primary" type="submit" className="self-start" busy={save.isPending}>
          Save
        </Button>
      </Panel>
    </form>
  );
}

function SettingInput({
  field: { name, label, kind, note, empty, options = [] },
  register,
  error,
}: {
  readonly field: SettingField;
  readonly register: UseFormRegister<Values>;
  readonly error: string | undefined;
}) {
  const shared = { label, error, hint: note, ...register(name) };
  if (kind === "lines") return <TextAreaField {...shared} />;
  if (kind === "choice") return <SelectField {...shared} options={options} />;
  if (kind !== "check") return <TextField {...shared} type={kind} placeholder={empty} />;
  return (
    <label className="flex items-center gap-2 self-end py-2">
      <input type="checkbox" className="accent-accent" {...register(name)} />
      {label}
    </label>
  );
}

function valuesOf(settings: object, fields: readonly SettingField[]): Values {
  const known = settings as Readonly<Record<string, Known>>;
  return Object.fromEntries(
    fields.map(({ name }) => [name, valueOf(known[name] ?? null)] as const),
  );
}

type Known = string | number | boolean | readonly string[] | null;

/** A setting as its field has it. */
function valueOf(known: Known): string | boolean {
  if (typeof known === "boolean") return known;
  if (known === null) return "";
  return typeof known === "object" ? known.join("\n") : String(known);
}

function jsonOf(values: Values, fields: readonly SettingField[]): Readonly<Record<string, Known>> {
  return Object.fromEntries(
    fields.map((field) => [field.name, settingOf(values[field.name]!, field)] as const),
  );
}

/** What a field says as the API takes it. */
function settingOf(value: string | boolean, { kind, empty }: SettingField): Known {
  if (typeof value !== "string") return value;
  if (value === "" && empty !== undefined) return null;
  if (kind === "number" && value !== "") return Number(value);
  return kind === "lines" ? value.split("\n").filter((line) => line.trim() !== "") : value;
}

/** Names `calls.calling_from` as the form does. */
function withoutSection(error: Error, section: SettingSection["section"]): Error {
  if (!(error instanceof ApiProblem) || section === null) return error;
  const errors = error.errors.map(({ field, reason }) => ({
    field: field.replace(`${section}.`, "").replace(/^stop_words\.\d+$/, "stop_words"),
    reason,
  }));
  return new ApiProblem(error.status, error.type, error.message, {
    errors,
    request_id: error.request_id,
  });
}
