import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { api, body } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import type { Role } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import { CopyField } from "../../ui/copy-field.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { readRole, roleOptions } from "./role-options.ts";

/** Invites a person, and shows the link to pass on. */
export function InviteDialog({ roles }: { readonly roles: readonly Role[] }) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title="Invite a person"
      text="They choose a name and a password with a link that works once, for three days."
      trigger={<Button kind="primary">Invite</Button>}
      open={open}
      onOpenChange={setOpen}
    >
      <InviteForm roles={roles} onDone={() => setOpen(false)} />
    </Dialog>
  );
}

type Values = { email: string; role_id: string };

function InviteForm({
  roles,
  onDone,
}: {
  readonly roles: readonly Role[];
  readonly onDone: () => void;
}) {
  const { register, handleSubmit, setError, formState } = useForm<Values>();
  const [formError, setFormError] = useState<Error | null>(null);
  const invite = useMutation({
    mutationFn: ({ email, role_id }: Values) =>
      body(api.POST("/api/v1/invitations", { body: { email, role_id: readRole(role_id) } })),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["invitations"] }),
    onError: (error) => setFormError(showFieldErrors(error, ["email", "role_id"], setError)),
  });
  if (invite.data) return <InvitedLink {...invite.data} onDone={onDone} />;
  const { errors } = formState;
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) => void handleSubmit((values) => invite.mutate(values))(event)}
    >
      <TextField
        label="Email"
        type="email"
        autoComplete="off"
        error={errors.email?.message}
        {...register("email", { required: "Enter an email address" })}
      />
      <SelectField
        label="Role"
        placeholder="No role: sees nothing yet"
        options={roleOptions(roles)}
        error={errors.role_id?.message}
        {...register("role_id")}
      />
      <UnsavedChanges isChanged={formState.isDirty} />
      <FormError error={formError} />
      <FormActions submit={handleSubmit((values) => invite.mutateAsync(values))}>
        <Button onClick={onDone}>Cancel</Button>
        <Button kind="primary" type="submit" busy={invite.isPending}>
          Invite
        </Button>
      </FormActions>
    </form>
  );
}

/** The link of an invitation that was just created. */
export function InvitedLink({
  email,
  path,
  emailed,
  onDone,
}: {
  readonly email: string;
  readonly path: string | null;
  readonly emailed: boolean;
  readonly onDone: () => void;
}) {
  return (
    <div className="flex flex-col gap-4">
      <p role="status">
        {emailed
          ? `The link was mailed to ${email}. You can also pass it on yourself.`
          : `No mail was sent. Pass this link on to ${email}.`}
      </p>
      <CopyField label="Link" name="link" text={location.origin + (path ?? "")} />
      <p className="text-muted text-xs">It is shown only now. It works once, for three days.</p>
      <Button className="self-end" kind="primary" onClick={onDone}>
        Done
      </Button>
    </div>
  );
}
