import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import type { Row } from "../../api/answer.ts";
import { createLead } from "../../api/lead.ts";
import { customFieldsQuery, leadsQuery, picklistsQuery } from "../../api/leads.ts";
import { tenDigits } from "../../from-server.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { usePhoneFormats } from "../../ui/phone-formats.ts";
import { SelectField } from "../../ui/select-field.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { useKeyedWrite } from "../../ui/use-keyed-write.ts";
import { optionsOf } from "./lead-options.ts";
import { customFieldsOf, RequiredField, type Entered } from "./required-field.tsx";

const shell = getRouteApi("/shell");

const empty = { phone: "", name: "", email: "", sourceId: "" };

type CustomFields = readonly Row<"listCustomFields">[];

/** Creates a lead and goes to its page, where the fields are that a new lead may lack. */
export function NewLeadDialog({ workspace }: { readonly workspace: number }) {
  const [open, setOpen] = useState(false);
  // Read before the form is opened, so that it has these fields from its beginning.
  const { data: fields = [] } = useQuery(customFieldsQuery(workspace));
  const required = fields.filter((field) => field.required);
  return (
    <Dialog
      title="New lead"
      trigger={<Button kind="primary">New lead</Button>}
      open={open}
      onOpenChange={setOpen}
    >
      <NewLeadForm workspace={workspace} required={required} onCancel={() => setOpen(false)} />
    </Dialog>
  );
}

type FormProps = {
  readonly workspace: number;
  readonly required: CustomFields;
  readonly onCancel: () => void;
};

function useNewLead({ workspace, required }: FormProps) {
  const navigate = useNavigate();
  const { country_code } = shell.useRouteContext().me.account;
  const [error, setError] = useState<Error | null>(null);
  const write = useKeyedWrite();
  const form = useForm({ defaultValues: { ...empty, customFields: emptyOf(required) } });
  const submit = form.handleSubmit(async ({ phone, name, email, sourceId, customFields }) => {
    setError(null);
    try {
      const lead = {
        phone: tenDigits(phone, country_code) ?? phone,
        ...(name === "" ? {} : { name }),
        ...(email === "" ? {} : { email }),
        ...(sourceId === "" ? {} : { sourceId: Number(sourceId) }),
        ...(required.length === 0 ? {} : { customFields: customFieldsOf(required, customFields) }),
      };
      const id = await write(lead, (key) => createLead(workspace, lead, key));
      const params = { leadId: String(id) };
      const search = { workspace };
      await navigate({ to: "/leads/$leadId", params, search, ignoreBlocker: true });
    } catch (caught) {
      const fields = [
        ...(Object.keys(empty) as (keyof typeof empty)[]),
        ...required.map(({ key }) => `customFields.${key}` as const),
      ];
      setError(showFieldErrors(caught as Error, fields, form.setError));
    }
  });
  return { form, error, submit };
}

const emptyOf = (fields: CustomFields): Record<string, Entered> =>
  Object.fromEntries(fields.map(({ key, type }) => [key, type === "multiselect" ? [] : ""]));

function NewLeadForm(props: FormProps) {
  const { workspace, required, onCancel } = props;
  const { data: picklists } = useQuery(picklistsQuery(workspace));
  const { form, error, submit } = useNewLead(props);
  const { register, formState, watch } = form;
  const { errors } = formState;
  return (
    <form noValidate className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      <TextField
        {...register("phone")}
        label="Phone number"
        inputMode="tel"
        placeholder="9876543210"
        hint={<PhoneHelp workspace={workspace} phone={watch("phone")} />}
        error={errors.phone?.message}
      />
      <TextField {...register("name")} label="Name" error={errors.name?.message} />
      <TextField {...register("email")} label="Email" error={errors.email?.message} />
      <SelectField
        {...register("sourceId")}
        label="Source"
        placeholder="None"
        options={optionsOf(picklists?.source ?? [])}
        error={errors.sourceId?.message}
      />
      {required.map((field) => (
        <RequiredField
          key={field.key}
          field={field}
          register={register(`customFields.${field.key}`)}
          error={errors.customFields?.[field.key]?.message}
        />
      ))}
      <UnsavedChanges isChanged={formState.isDirty} />
      <FormError error={error} />
      <FormActions submit={submit}>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" kind="primary" busy={formState.isSubmitting}>
          Create lead
        </Button>
      </FormActions>
    </form>
  );
}

/** How a number is written, and a lead that has it already; another one can be made all the same. */
function PhoneHelp({ workspace, phone }: { readonly workspace: number; readonly phone: string }) {
  const { national } = usePhoneFormats();
  const { country_code } = shell.useRouteContext().me.account;
  const digits = tenDigits(phone, country_code);
  const query = leadsQuery(workspace, { q: digits ?? "" });
  const { data } = useInfiniteQuery({ ...query, enabled: digits !== null });
  const lead = data?.pages[0]?.data.find((one) => one.phone === digits);
  if (digits === null || !lead) return national;
  return (
    <>
      {national}{" "}
      <Link
        to="/leads/$leadId"
        params={{ leadId: String(lead.id) }}
        search={{ workspace }}
        className="text-accent underline"
      >
        {lead.name || "A lead"}
      </Link>{" "}
      has this number already.
    </>
  );
}
