import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useForm, type UseFormReturn } from "react-hook-form";
import { numbersQuery } from "../../api/chat.ts";
import { submitTemplate } from "../../api/templates.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Phone } from "../../ui/phone.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextAreaField } from "../../ui/text-area-field.tsx";
import { TextField } from "../../ui/text-field.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { empty_template, templateOf, toFormFields } from "./template-form.ts";
import { category_words } from "./templates-page.tsx";

const categories = Object.entries(category_words).map(([value, label]) => ({ value, label }));

/** Submits a template with a text, which is what most campaigns send; the API takes every kind. */
export function NewTemplatePage() {
  const navigate = useNavigate();
  const [error, setError] = useState<Error | null>(null);
  const form = useForm({ defaultValues: empty_template });
  const { handleSubmit, formState, setError: setFieldError, watch } = form;
  const submit = handleSubmit(async (given) => {
    setError(null);
    try {
      const { id } = await submitTemplate(templateOf(given));
      await navigate({ to: "/chat/templates/$id", params: { id }, ignoreBlocker: true });
    } catch (caught) {
      const fields = Object.keys(empty_template) as (keyof typeof empty_template)[];
      setError(showFieldErrors(toFormFields(caught as Error, given), fields, setFieldError));
    }
  });
  return (
    <Page title="New template" text="WhatsApp reviews it before campaigns can use it.">
      <form
        noValidate
        className="grid items-start gap-6 lg:grid-cols-[1fr_19rem]"
        onSubmit={(event) => void submit(event)}
      >
        <div className="flex flex-col gap-6">
          <TemplateFields form={form} />
          <MessageFields form={form} />
          <UnsavedChanges isChanged={formState.isDirty} />
          <FormError error={error} />
          <FormActions submit={submit} align="start">
            <Button type="submit" kind="primary" busy={formState.isSubmitting}>
              Submit for approval
            </Button>
          </FormActions>
        </div>
        <aside aria-label="Preview" className="lg:sticky lg:top-8">
          <Phone title="WhatsApp">
            <Bubble {...watch()} />
          </Phone>
        </aside>
      </form>
    </Page>
  );
}

type Props = { readonly form: UseFormReturn<typeof empty_template> };

function TemplateFields({ form: { register, formState } }: Props) {
  const { data: numbers = [] } = useQuery(numbersQuery);
  const { errors } = formState;
  return (
    <Panel title="Template">
      <SelectField
        {...register("chat_number_id")}
        label="Business account of"
        placeholder="Choose a number"
        options={numbers.map(({ id, name, phone_number }) => ({
          value: id,
          label: `${name} (+${phone_number})`,
        }))}
        error={errors.chat_number_id?.message}
      />
      <TextField
        {...register("name")}
        label="Name"
        placeholder="order_shipped"
        hint="Lower-case letters, digits and _; only your team sees it."
        error={errors.name?.message}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          {...register("language")}
          label="Language"
          hint="Such as en or pt_BR."
          error={errors.language?.message}
        />
        <SelectField
          {...register("category")}
          label="Category"
          options={categories}
          error={errors.category?.message}
        />
      </div>
    </Panel>
  );
}

function MessageFields({ form: { register, formState } }: Props) {
  const { errors } = formState;
  return (
    <Panel title="Message">
      <TextField
        {...register("header")}
        label="Title (optional)"
        maxLength={60}
        error={errors.header?.message}
      />
      <TextAreaField
        {...register("body")}
        label="Text"
        rows={5}
        hint="{{1}}, {{2}} and so on stand for what differs for each recipient."
        error={errors.body?.message}
      />
      <TextField
        {...register("examples")}
        label="Examples of the variables"
        placeholder="Ada, A-1234"
        hint="In their order, with commas between: WhatsApp’s reviewers see them."
        error={errors.examples?.message}
      />
      <TextField
        {...register("footer")}
        label="Small print (optional)"
        placeholder="Reply STOP to opt out"
        maxLength={60}
        error={errors.footer?.message}
      />
      <TextField
        {...register("buttons")}
        label="Answer buttons (optional)"
        placeholder="Yes, No"
        hint="At most ten, with commas between."
        error={errors.buttons?.message}
      />
    </Panel>
  );
}

function Bubble({ header, body, footer }: typeof empty_template) {
  return (
    <div className="bg-panel max-w-[92%] rounded-xl rounded-tl-none p-3 wrap-anywhere whitespace-pre-wrap shadow-sm">
      {header !== "" && <p className="font-semibold">{header}</p>}
      <p>{body || "Your text"}</p>
      {footer !== "" && <p className="text-muted mt-1 text-xs">{footer}</p>}
    </div>
  );
}
