import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { api, body } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { allUsersQuery, permissionsQuery, type Permissions } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import { CheckList } from "../../ui/check-list.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextAreaField } from "../../ui/text-area-field.tsx";
import { TextField } from "../../ui/text-field.tsx";
import type { Option } from "../../ui/option.ts";
import { useMay } from "../../ui/permission.ts";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { ShownToken } from "./shown-token.tsx";

const shell = getRouteApi("/shell");

/** Creates a token and shows it once. */
export function NewTokenDialog() {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title="New token"
      trigger={<Button kind="primary">New token</Button>}
      open={open}
      onOpenChange={setOpen}
    >
      <TokenForm onDone={() => setOpen(false)} />
    </Dialog>
  );
}

type Values = {
  name: string;
  user_id: string;
  limited: boolean;
  scopes: Permissions;
  expires_at: string;
  allowed_addresses: string;
};

const fields = ["name", "user_id", "scopes", "expires_at", "allowed_addresses"] as const;

const create = ({ name, user_id, limited, scopes, expires_at, allowed_addresses }: Values) => {
  const addresses = allowed_addresses.split(/[\s,]+/).filter((one) => one !== "");
  return body(
    api.POST("/api/v1/tokens", {
      body: {
        name,
        ...(user_id === ""
          ? { kind: "account" as const }
          : { kind: "agent" as const, user_id: Number(user_id) }),
        ...(limited ? { scopes } : {}),
        ...(expires_at === "" ? {} : { expires_at }),
        ...(addresses.length === 0 ? {} : { allowed_addresses: addresses }),
      },
    }),
  );
};

function TokenForm({ onDone }: { readonly onDone: () => void }) {
  const { time_zone } = shell.useRouteContext().me.account;
  const users = useUserOptions();
  const { register, handleSubmit, setError, watch, formState } = useForm<Values>({
    defaultValues: {
      user_id: "",
      limited: true,
      scopes: [],
      expires_at: "",
      allowed_addresses: "",
    },
  });
  const [formError, setFormError] = useState<Error | null>(null);
  const issue = useMutation({
    mutationFn: create,
    onMutate: () => setFormError(null),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["tokens"] }),
    onError: (error) => setFormError(showFieldErrors(error, fields, setError)),
  });
  if (issue.data) return <ShownToken token={issue.data} onDone={onDone} />;
  const { errors } = formState;
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) => void handleSubmit((values) => issue.mutate(values))(event)}
    >
      <TextField
        label="Name"
        error={errors.name?.message}
        hint="What uses it, such as the shop's web form."
        {...register("name", { required: "Enter a name" })}
      />
      <SelectField
        label="It acts as"
        placeholder="The account's owner"
        options={users}
        error={errors.user_id?.message}
        {...register("user_id")}
      />
      <label className="flex items-center gap-2">
        <input type="checkbox" {...register("limited")} />
        Only what is ticked below
      </label>
      {watch("limited") && <Scopes register={register("scopes")} error={errors.scopes?.message} />}
      <TextField
        label="Expires"
        type="datetime-local"
        error={errors.expires_at?.message}
        hint={`In the account's time zone (${time_zone}). Leave it empty for a token that lasts.`}
        {...register("expires_at")}
      />
      <TextAreaField
        label="Only from these addresses"
        rows={2}
        error={errors.allowed_addresses?.message}
        hint="IP addresses or networks, such as 192.0.2.0/24. Leave it empty for any."
        {...register("allowed_addresses")}
      />
      <UnsavedChanges isChanged={formState.isDirty} />
      <FormError error={formError} />
      <FormActions submit={handleSubmit((values) => issue.mutateAsync(values))}>
        <Button onClick={onDone}>Cancel</Button>
        <Button kind="primary" type="submit" busy={issue.isPending}>
          Create token
        </Button>
      </FormActions>
    </form>
  );
}

/** Who may be chosen; no one without the permission to see users. */
function useUserOptions(): readonly Option[] {
  const may = useMay("users.read", "users.manage");
  const { data: users = [] } = useQuery({ ...allUsersQuery, enabled: may });
  return users
    .filter(({ active, is_owner }) => active && !is_owner)
    .map(({ id, name }) => ({ value: id, label: name }));
}

function Scopes({
  register,
  error,
}: {
  readonly register: object;
  readonly error: string | undefined;
}) {
  const { data: known = [] } = useQuery(permissionsQuery);
  return (
    <CheckList legend="The token may" count={known.length} error={error}>
      {known.map(({ name, description }) => (
        <label key={name} className="flex items-start gap-2">
          <input type="checkbox" value={name} className="mt-1" {...register} />
          {description}
        </label>
      ))}
    </CheckList>
  );
}
