import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { sendTest } from "../../api/chat-numbers.ts";
import { numbersQuery, type Template } from "../../api/chat.ts";
import { recipient_reasons } from "../../messages/chat-reasons.ts";
import { reasonOf } from "../../messages/reason.ts";
import { nationalPhone } from "../../from-server.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormField, FormValues } from "../../ui/form-fields.tsx";
import { usePhoneFormats } from "../../ui/phone-formats.ts";
import { toasts } from "../../ui/toasts.tsx";

const shell = getRouteApi("/shell");

/** Sends the template to one phone at once. */
export function TestDialog({ template }: { readonly template: Template }) {
  const { data: numbers = [] } = useQuery(numbersQuery);
  const { any } = usePhoneFormats();
  const { country_code } = shell.useRouteContext().me.account;
  const own = numbers.filter(
    ({ business_account_id }) => business_account_id === template.business_account_id,
  );
  // A select drops a value for which it has no option yet.
  if (own.length === 0) return null;
  return (
    <FormDialog
      title="Send a test message"
      text="It is a real message, and costs a credit."
      fields={fieldsOf(template, own, any)}
      known={{ chat_number_id: own[0]!.id, variables: template.variable_defaults }}
      action="Send the message"
      save={(json, _, key) => send(template.id, json, country_code, key)}
      trigger={<Button>Send a test</Button>}
    />
  );
}

type Sender = { readonly id: number; readonly name: string; readonly phone_number: string };

const fieldsOf = (
  template: Template,
  own: readonly Sender[],
  written: string,
): readonly FormField[] => [
  {
    name: "chat_number_id",
    label: "From",
    kind: "choice",
    options: own.map(({ id, name, phone_number }) => ({
      value: id,
      label: `${name} (+${phone_number})`,
    })),
  },
  { name: "phone_number", label: "To", kind: "text", note: written },
  ...template.variables.map(({ key }): FormField => ({
    name: `variables.${key}`,
    label: `{{${key}}}`,
    kind: "text",
  })),
];

async function send(
  template_id: number,
  json: FormValues,
  country_code: string,
  key: string,
): Promise<void> {
  const message = { ...json, template_id } as Parameters<typeof sendTest>[0];
  const phone_number = nationalPhone(message.phone_number, country_code) ?? message.phone_number;
  const { outcome, error } = await sendTest({ ...message, phone_number }, key);
  if (outcome === "failed") throw new Error(reasonOf(recipient_reasons, error ?? "unknown").text);
  toasts.add({
    title: outcome === "accepted" ? "Sent" : "It may have been sent",
    description: "WhatsApp answers within seconds.",
  });
}
