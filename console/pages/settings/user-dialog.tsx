import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { api, body } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import type { Role, User } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import { CopyField } from "../../ui/copy-field.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { changedParts } from "../../ui/form-fields.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { LostApp } from "./lost-app.tsx";
import { LostPasskeys } from "./lost-passkeys.tsx";
import { readRole, roleOptions } from "./role-options.ts";

const shell = getRouteApi("/shell");

type Props = { readonly user: User; readonly roles: readonly Role[] };

/** A user's name, which opens what can be changed. */
export function UserDialog({ user, roles }: Props) {
  const [open, setOpen] = useState(false);
  const { me } = shell.useRouteContext();
  return (
    <Dialog
      title={user.name}
      text={user.email}
      trigger={
        <button type="button" className="cursor-pointer text-left font-medium hover:underline">
          {user.name}
        </button>
      }
      open={open}
      onOpenChange={setOpen}
    >
      <UserForm user={user} roles={roles} onDone={() => setOpen(false)} />
      {user.active && user.id !== me.user.id && <SignInLink user={user} />}
      {user.active && user.has_totp && <LostApp user={user} />}
      {user.passkeys > 0 && <LostPasskeys user={user} />}
      {!user.is_owner && <Activity user={user} />}
    </Dialog>
  );
}

type Patch = {
  name?: string;
  email?: string;
  role_id?: number | null;
  active?: boolean;
  current_password?: string;
};

async function updateUser(id: number, json: Patch): Promise<void> {
  await api.PATCH("/api/v1/users/{id}", { params: { path: { id } }, body: json });
  await queryClient.invalidateQueries({ queryKey: ["users"] });
}

type Values = { name: string; email: string; role_id: string; current_password: string };

const patchOf = ({ is_owner }: User, { name, email, role_id }: Values): Patch => ({
  name,
  email,
  ...(is_owner ? {} : { role_id: readRole(role_id) }),
});

function SaveButton({ busy }: { readonly busy: boolean }) {
  return (
    <Button kind="primary" type="submit" busy={busy}>
      Save
    </Button>
  );
}

function UserForm({ user, roles, onDone }: Props & { readonly onDone: () => void }) {
  const { register, handleSubmit, setError, formState } = useForm<Values>({
    defaultValues: {
      name: user.name,
      email: user.email,
      role_id: String(user.role_id ?? ""),
      current_password: "",
    },
  });
  const { errors, defaultValues, dirtyFields } = formState;
  const { me } = shell.useRouteContext();
  // Of the own address: an open session must not be enough to have a new password mailed elsewhere.
  const asks_password = user.id === me.user.id && me.has_password && dirtyFields.email === true;
  const [formError, setFormError] = useState<Error | null>(null);
  const save = useMutation({
    mutationFn: async (values: Values) => {
      const changed = changedParts(patchOf(user, defaultValues as Values), patchOf(user, values));
      const { current_password } = values;
      if (Object.keys(changed).length > 0)
        await updateUser(user.id, { ...changed, ...(asks_password ? { current_password } : {}) });
    },
    onSuccess: onDone,
    onError: (error) =>
      setFormError(
        showFieldErrors(error, ["name", "email", "role_id", "current_password"], setError),
      ),
  });
  const button = <SaveButton busy={save.isPending} />;
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) => void handleSubmit((values) => save.mutate(values))(event)}
    >
      <TextField label="Name" error={errors.name?.message} {...register("name")} />
      <TextField label="Email" type="email" error={errors.email?.message} {...register("email")} />
      {asks_password && (
        <TextField
          label="Your password"
          type="password"
          autoComplete="current-password"
          error={errors.current_password?.message}
          {...register("current_password", { required: "Enter your password" })}
        />
      )}
      {!user.is_owner && (
        <SelectField
          label="Role"
          placeholder="No role"
          options={roleOptions(roles)}
          error={errors.role_id?.message}
          {...register("role_id")}
        />
      )}
      <UnsavedChanges isChanged={formState.isDirty} />
      <FormError error={formError} />
      {asks_password ? (
        // Not as a command, which would show the password.
        <div className="self-end">{button}</div>
      ) : (
        <FormActions submit={handleSubmit((values) => save.mutateAsync(values))}>
          {button}
        </FormActions>
      )}
    </form>
  );
}

function SignInLink({ user: { id, name } }: { readonly user: User }) {
  const link = useMutation({
    mutationFn: () =>
      body(api.POST("/api/v1/users/{id}/sign-in-link", { params: { path: { id } } })),
  });
  return (
    <div className="border-line flex flex-col gap-2 border-t pt-4">
      {link.data ? (
        <CopyField
          label="Sign-in link"
          name="link"
          text={location.origin + (link.data.path ?? "")}
          hint="It is shown only now. It works once, for three days."
        />
      ) : (
        <>
          <p className="text-muted">
            A forgotten password: a link signs {name} in once, to choose a new one, which removes
            passkeys.
          </p>
          <Button className="self-start" busy={link.isPending} onClick={() => link.mutate()}>
            Create a sign-in link
          </Button>
        </>
      )}
      <FormError error={link.error} />
    </div>
  );
}

function Activity({ user: { id, name, active } }: { readonly user: User }) {
  const change = useMutation({ mutationFn: () => updateUser(id, { active: !active }) });
  return (
    <div className="border-line flex flex-col gap-2 border-t pt-4">
      <p className="text-muted">
        {active
          ? `${name} is signed out at once and cannot sign in any more. Leads stay assigned.`
          : `${name} cannot sign in.`}
      </p>
      <Button
        kind={active ? "danger" : "plain"}
        className="self-start"
        busy={change.isPending}
        onClick={() => change.mutate()}
      >
        {active ? "Deactivate" : "Reactivate"}
      </Button>
      <FormError error={change.error} />
    </div>
  );
}
