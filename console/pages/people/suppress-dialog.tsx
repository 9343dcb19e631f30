import { useState } from "react";
import { useForm } from "react-hook-form";
import { suppress } from "../../api/people.ts";
import type { Suppression } from "../../api/suppressions.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { default_rule, RuleFields, type Rule } from "../suppressions/rule-fields.tsx";
import { SuppressedLonger } from "../suppressions/suppressed-longer.tsx";

/** Suppresses a number; a manual suppression of it can only be extended. */
export function SuppressDialog({ phone }: { readonly phone: string }) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title="Suppress this number"
      text="Campaigns and click-to-call leave it out from now on."
      trigger={<Button>Suppress</Button>}
      open={open}
      onOpenChange={setOpen}
    >
      <SuppressForm phone={phone} onDone={() => setOpen(false)} />
    </Dialog>
  );
}

function SuppressForm({ phone, onDone }: { readonly phone: string; readonly onDone: () => void }) {
  const [error, setError] = useState<Error | null>(null);
  const [longer, setLonger] = useState<Suppression | null>(null);
  const form = useForm<Rule>({ defaultValues: default_rule });
  const submit = form.handleSubmit(async ({ reason, expires_at, ...rest }) => {
    try {
      const existing = await suppress({
        phone_number: phone,
        ...rest,
        ...(reason === "" ? {} : { reason }),
        ...(expires_at === "" ? {} : { expires_at }),
      });
      if (existing) setLonger(existing);
      else onDone();
    } catch (caught) {
      setError(
        showFieldErrors(
          caught as Error,
          ["channel", "scope", "reason", "expires_at"],
          form.setError,
        ),
      );
    }
  });
  if (longer) return <SuppressedLonger suppression={longer} onDone={onDone} />;
  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      <RuleFields form={form} />
      <UnsavedChanges isChanged={form.formState.isDirty} />
      <FormError error={error} />
      <FormActions submit={submit}>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" kind="danger" busy={form.formState.isSubmitting}>
          Suppress number
        </Button>
      </FormActions>
    </form>
  );
}
