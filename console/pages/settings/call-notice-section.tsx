import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ChangeEvent } from "react";
import { get, type FieldErrors } from "react-hook-form";
import { numbersQuery, templatesQuery, type Template } from "../../api/chat.ts";
import type { ChatNumber } from "../../api/chat-numbers.ts";
import { template_statuses } from "../../messages/template-statuses.ts";
import type { FormValues } from "../../ui/form-fields.tsx";
import { useMay } from "../../ui/permission.ts";
import { SelectField } from "../../ui/select-field.tsx";
import {
  SettingPanel,
  useSettingForm,
  Warning,
  type SectionProps,
  type SettingForm,
} from "./setting-form.tsx";

const number_name = "notice.chat_number_id";
const template_name = "notice.template_id";

type Chosen = { readonly chat_number_id: string; readonly template_id: string };

/** Both or none. */
const patchOf = (values: FormValues) => {
  const { chat_number_id, template_id } = values["notice"] as Chosen;
  const notice = { chat_number_id: Number(chat_number_id), template_id: Number(template_id) };
  return { notice: chat_number_id === "" ? null : notice };
};

/** The message that customers receive with a click-to-call that requests it. */
export function CallNoticeSection({ account: { calls }, onChanged }: SectionProps) {
  const { chat_number_id = "", template_id = "" } = calls.notice ?? {};
  const form = useSettingForm({
    values: {
      notice: { chat_number_id: String(chat_number_id), template_id: String(template_id) },
    },
    names: [number_name, template_name],
    section: "calls",
    patchOf,
    onChanged,
  });
  const may = [
    useMay("chat.read"),
    useMay("chat.campaigns.create"),
    useMay("chat.manage"),
  ].includes(true);
  const numbers = useQuery({ ...numbersQuery, enabled: may });
  const templates = useQuery({ ...templatesQuery, enabled: may });
  return (
    <SettingPanel
      title="Chat notification with a call"
      text={
        <>
          A message to the customer, for one message credit, with each click-to-call that requests
          it (<code className="font-mono text-xs">enable_chat</code> of the API).
        </>
      }
      form={form}
    >
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <NumberField form={form} numbers={numbers.data} templates={templates.data} />
        {get(form.watch(), number_name) !== "" && (
          <TemplateField form={form} numbers={numbers.data} templates={templates.data} />
        )}
      </div>
      {!may && (
        <p className="text-muted text-xs">
          Your role does not include seeing chat numbers and templates.
        </p>
      )}
    </SettingPanel>
  );
}

type FieldProps = {
  readonly form: SettingForm;
  /** Undefined while they are loaded. */
  readonly numbers: readonly ChatNumber[] | undefined;
  readonly templates: readonly Template[] | undefined;
};

const valueOf = (values: unknown, name: string) => String(get(values, name));

/** A template is of a business account, whose numbers can send it. */
const fits = (template: Template, number: ChatNumber | undefined) =>
  template.driver === number?.driver && template.business_account_id === number.business_account_id;

function NumberField({ form, numbers, templates }: FieldProps) {
  const saved = valueOf(form.formState.defaultValues, number_name);
  const value = valueOf(form.watch(), number_name);
  const usable = (numbers ?? []).filter(({ id, active }) => active || String(id) === saved);
  const isListed = saved === "" || usable.some(({ id }) => String(id) === saved);
  const options = [
    ...(isListed ? [] : [{ value: Number(saved), label: unlisted("chat number", saved, numbers) }]),
    ...usable.map(({ id, name, phone_number, active }) => ({
      value: id,
      label: `${name} (+${phone_number})${active ? "" : ", inactive"}`,
    })),
  ];
  /** Drops a template that the number cannot send. */
  const onChange = (id: string) => {
    // Without a number no template is sent, and a role may not see them.
    if (id === "" || !templates) return;
    const number = numbers?.find((one) => String(one.id) === id);
    const chosen = templates.find(
      (one) => String(one.id) === valueOf(form.getValues(), template_name),
    );
    if (!chosen || !fits(chosen, number))
      form.setValue("notice", { chat_number_id: id, template_id: "" }, { shouldDirty: true });
  };
  return (
    <SelectField
      {...form.register(number_name, {
        onChange: ({ target }: ChangeEvent<HTMLSelectElement>) => onChange(target.value),
      })}
      label="Send from"
      placeholder="No message"
      options={options}
      error={messageOf(form, number_name)}
      hint={numberHint(value, numbers)}
    />
  );
}

function numberHint(value: string, numbers: readonly ChatNumber[] | undefined) {
  if (!numbers) return null;
  if (value === "")
    return numbers.some(({ active }) => active) ? null : "The account has no active chat number.";
  const chosen = numbers.find(({ id }) => String(id) === value);
  if (chosen?.active) return null;
  return (
    <Warning>
      {chosen
        ? "No message is sent while the number is inactive."
        : "The number was deleted: no message is sent."}
    </Warning>
  );
}

function TemplateField({ form, numbers, templates }: FieldProps) {
  const saved = valueOf(form.formState.defaultValues, template_name);
  const values = form.watch();
  const value = valueOf(values, template_name);
  const number_id = valueOf(values, number_name);
  const number = numbers?.find(({ id }) => String(id) === number_id);
  const usable = (templates ?? []).filter(
    (one) =>
      String(one.id) === value ||
      (fits(one, number) && one.status === "APPROVED" && one.unsupported === null),
  );
  const isListed = value === "" || usable.some(({ id }) => String(id) === value);
  const options = [
    ...(isListed ? [] : [{ value: Number(value), label: unlisted("template", value, templates) }]),
    ...usable.map(({ id, name, language }) => ({ value: id, label: `${name} (${language})` })),
  ];
  const chosen = templates?.find(({ id }) => String(id) === value);
  const isDeleted = templates !== undefined && value === saved && value !== "" && !chosen;
  const isEmpty = templates !== undefined && options.length === 0;
  return (
    <SelectField
      {...form.register(template_name, { required: "Choose a template." })}
      label="Template"
      placeholder="Choose a template"
      options={options}
      error={messageOf(form, template_name)}
      hint={
        <>
          {isEmpty && "This number has no approved template."}
          {isDeleted && <Warning>The template was deleted: no message is sent.</Warning>}
          {chosen && <TemplateState template={chosen} />}
        </>
      }
    />
  );
}

/** Headers that are a file. */
const media_formats = new Set(["IMAGE", "VIDEO", "DOCUMENT"]);

/** Says what keeps a template from being sent beside a call, where no one gives its values. */
function TemplateState({ template }: { readonly template: Template }) {
  const { id, status, variables, variable_defaults, components, header_media } = template;
  const header = components.find(({ type }) => type === "HEADER") as
    | { format?: string }
    | undefined;
  const lacksFile = header_media === null && media_formats.has(header?.format ?? "");
  const lacking = variables.filter(({ key }) => !variable_defaults[key]).map(({ key }) => key);
  return (
    <>
      {status !== "APPROVED" && (
        <Warning>
          {template_statuses[status].label}: no message is sent until it is approved.
        </Warning>
      )}
      {lacksFile && <Warning>No message is sent: the file above its text is missing.</Warning>}
      {lacking.length > 0 && (
        <Warning>
          No message is sent: {lacking.map((key) => `{{${key}}}`).join(", ")} must have a default.
        </Warning>
      )}
      <Link
        to="/chat/templates/$id"
        params={{ id }}
        className="text-accent mt-1 block w-fit underline"
      >
        Show the template
      </Link>
    </>
  );
}

const unlisted = (thing: string, id: string, list: readonly unknown[] | undefined) =>
  list ? `Deleted ${thing} (${id})` : `The chosen ${thing}`;

const messageOf = ({ formState: { errors } }: SettingForm, name: string) =>
  get<FieldErrors, { message?: string } | undefined>(errors, name)?.message;
