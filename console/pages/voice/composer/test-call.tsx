import { useMutation } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useForm } from "react-hook-form";
import { useState } from "react";
import { api, body } from "../../../api/client.ts";
import { keyed } from "../../../api/keyed.ts";
import type { CallType } from "../../../api/voice.ts";
import { Button } from "../../../ui/button.tsx";
import { tenDigits } from "../../../from-server.ts";
import { FormError } from "../../../ui/form-error.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { useMay } from "../../../ui/permission.ts";
import { usePhoneFormats } from "../../../ui/phone-formats.ts";
import { FormActions } from "../../../ui/form-actions.tsx";
import { showFieldErrors } from "../../../ui/show-field-errors.ts";
import { TextField } from "../../../ui/text-field.tsx";
import { useKeyedWrite } from "../../../ui/use-keyed-write.ts";

const shell = getRouteApi("/shell");

type Values = { number: string };

/** One call with the content, to hear it on a phone. */
export function TestCall({
  file_id,
  call_type,
  variables,
}: {
  readonly file_id: number;
  readonly call_type: CallType;
  readonly variables: Readonly<Record<string, string>>;
}) {
  const may_see = useMay("voice.campaigns.read", "voice.campaigns.manage");
  const { national } = usePhoneFormats();
  const { country_code } = shell.useRouteContext().me.account;
  const { register, handleSubmit, setError, formState } = useForm<Values>();
  const [formError, setFormError] = useState<Error | null>(null);
  const write = useKeyedWrite();
  const call = useMutation({
    mutationFn: ({ number }: Values) => {
      const json = {
        voice_file_id: file_id,
        call_type,
        number: tenDigits(number, country_code) ?? number,
        variables: { ...variables },
      };
      return write(json, (key) =>
        body(api.POST("/api/v1/voice/campaigns/test-call", { params: keyed(key), body: json })),
      );
    },
    onMutate: () => setFormError(null),
    onError: (error) => setFormError(showFieldErrors(error, ["number"], setError)),
  });
  return (
    <Panel title="Test call">
      <form
        className="flex flex-col gap-3"
        noValidate
        onSubmit={(event) => void handleSubmit((values) => call.mutate(values))(event)}
      >
        <TextField
          label="Your phone"
          type="tel"
          autoComplete="off"
          error={formState.errors.number?.message}
          hint={`${national} It is called now and costs credits, like any call.`}
          {...register("number", { required: "Enter your number" })}
        />
        <FormError error={formError} />
        <FormActions submit={handleSubmit((values) => call.mutateAsync(values))} align="start">
          <Button type="submit" busy={call.isPending}>
            Call my phone
          </Button>
        </FormActions>
        {call.data && (
          <p role="status">
            The call is placed within 10 minutes, or cancelled.{" "}
            {may_see && (
              <Link
                to="/voice/campaigns/$id"
                params={{ id: call.data.campaignId }}
                className="text-accent underline"
              >
                Look at it
              </Link>
            )}
          </p>
        )}
      </form>
    </Panel>
  );
}
