import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { useForm } from "react-hook-form";
import { answerReply, type Reply } from "../../api/replies.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { useMay } from "../../ui/permission.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextAreaField } from "../../ui/text-area-field.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { useKeyedWrite } from "../../ui/use-keyed-write.ts";
import { phoneOf } from "./reply-text.ts";
import { describeMinutes, useMinutesLeft } from "./reply-window.ts";

/** The field for an answer, or why none can be sent and what can. */
export function AnswerForm({ reply }: { readonly reply: Reply }) {
  const may_answer = useMay("chat.campaigns.create");
  const minutes = useMinutesLeft(reply.received_at);
  if (!may_answer) return <p className="text-muted">Your role may not answer.</p>;
  if (minutes === 0) {
    const to = phoneOf(reply);
    const name = reply.contact_name;
    return (
      <Notice text="WhatsApp takes answers only within 24 hours of a person's last message. After that, send an approved template.">
        <Link
          to="/chat/campaigns/new"
          search={to === null ? {} : { to, ...(name === null ? {} : { name }) }}
          className={buttonClass("primary")}
        >
          Send a template
        </Link>
      </Notice>
    );
  }
  return (
    <>
      {reply.opted_out && (
        <Notice text="This person opted out with their last message. An answer is refused if they stopped all messages, until they write again." />
      )}
      <OpenForm id={reply.id} left={describeMinutes(minutes)} />
    </>
  );
}

function Notice({ text, children }: { readonly text: string; readonly children?: ReactNode }) {
  return (
    <div className="border-line flex flex-wrap items-center justify-between gap-3 border-t pt-4">
      <p className="text-muted max-w-md">{text}</p>
      {children}
    </div>
  );
}

function OpenForm({ id, left }: { readonly id: number; readonly left: string }) {
  const [error, setError] = useState<Error | null>(null);
  const write = useKeyedWrite();
  const form = useForm({ defaultValues: { text: "" } });
  const { register, handleSubmit, formState, reset, getValues, setError: setFieldError } = form;
  const submit = handleSubmit(async ({ text }) => {
    setError(null);
    try {
      await write(text, (key) => answerReply(id, text, key));
      // The next answer may have been begun meanwhile.
      if (getValues("text") === text) reset();
    } catch (caught) {
      setError(showFieldErrors(caught as Error, ["text"], setFieldError));
    }
  });
  return (
    <form
      className="border-line flex flex-col gap-3 border-t pt-4"
      onSubmit={(event) => void submit(event)}
    >
      <TextAreaField
        {...register("text")}
        dir="auto"
        label="Answer"
        rows={3}
        hint={`${left}. After that, WhatsApp takes templates only. An answer costs 1 message credit.`}
        error={formState.errors.text?.message}
      />
      <UnsavedChanges isChanged={formState.isDirty} />
      <FormError error={error} />
      <FormActions submit={submit}>
        <Button type="submit" kind="primary" busy={formState.isSubmitting}>
          Send answer
        </Button>
      </FormActions>
    </form>
  );
}
