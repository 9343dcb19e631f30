import type { UseFormReturn } from "react-hook-form";
import { SelectField } from "../../ui/select-field.tsx";
import { TextField } from "../../ui/text-field.tsx";
import { channel_options, scope_options } from "./suppressions-search.ts";

export type Rule = {
  readonly channel: "all" | "chat" | "voice";
  readonly scope: "all" | "marketing";
  readonly reason: string;
  /** A date and time of the account's time zone; empty: until someone lifts it. */
  readonly expires_at: string;
};

/** By default everything, because that is what an angry customer wants. */
export const default_rule: Rule = { channel: "all", scope: "all", reason: "", expires_at: "" };

/** What is forbidden, why and for how long. */
export function RuleFields<Values extends Rule>({
  form,
}: {
  readonly form: UseFormReturn<Values>;
}) {
  // react-hook-form cannot prove that a form with more fields has these.
  const { register, formState } = form as unknown as UseFormReturn<Rule>;
  const { errors } = formState;
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <SelectField
        {...register("channel")}
        label="Channel"
        error={errors.channel?.message}
        options={channel_options}
      />
      <SelectField
        {...register("scope")}
        label="Scope"
        error={errors.scope?.message}
        options={scope_options}
      />
      <TextField
        {...register("reason")}
        label="Reason"
        placeholder="Asked by phone"
        error={errors.reason?.message}
      />
      <TextField
        {...register("expires_at")}
        type="datetime-local"
        label="Until"
        hint="Empty: until someone lifts it."
        error={errors.expires_at?.message}
      />
    </div>
  );
}
