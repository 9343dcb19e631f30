import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { useForm } from "react-hook-form";
import { eventTypesQuery, type Endpoint } from "../../api/callbacks.ts";
import { api, body } from "../../api/client.ts";
import { keyed } from "../../api/keyed.ts";
import { queryClient } from "../../api/query-client.ts";
import { Button } from "../../ui/button.tsx";
import { CopyField } from "../../ui/copy-field.tsx";
import { CheckList } from "../../ui/check-list.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { changedParts } from "../../ui/form-fields.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";
import { useKeyedWrite } from "../../ui/use-keyed-write.ts";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";

/** Creates an endpoint, or changes one. */
export function EndpointDialog({
  endpoint,
  trigger,
}: {
  readonly endpoint: Endpoint | null;
  readonly trigger: ReactElement;
}) {
  const [open, setOpen] = useState(false);
  return (
    <Dialog
      title={endpoint ? "Change the endpoint" : "New endpoint"}
      trigger={trigger}
      open={open}
      onOpenChange={setOpen}
    >
      <EndpointForm endpoint={endpoint} onDone={() => setOpen(false)} />
    </Dialog>
  );
}

type Values = { url: string; description: string; all: boolean; types: string[] };

/** The order in which types are ticked does not count as a change. */
const jsonOf = ({ url, description, all, types }: Values) => ({
  url,
  description,
  types: all ? null : types.toSorted(),
});

const valuesOf = (endpoint: Endpoint | null): Values => ({
  url: endpoint?.url ?? "",
  description: endpoint?.description ?? "",
  all: !endpoint || endpoint.types === null,
  types: endpoint?.types ?? [],
});

/** Returns the secret of a new endpoint; null where its first answer was lost: the endpoint's page shows it. */
async function saveEndpoint(
  endpoint: Endpoint | null,
  { shown, values }: { readonly shown: Values; readonly values: Values },
  key: string,
): Promise<string | null> {
  const json = jsonOf(values);
  if (endpoint) {
    const params = { path: { id: endpoint.id } };
    // Only what changed, so that nobody else's change is undone.
    const changed = changedParts(jsonOf(shown), json);
    if (Object.keys(changed).length > 0)
      await api.PATCH("/api/v1/callbacks/endpoints/{id}", { params, body: changed });
    return null;
  }
  const params = keyed(key);
  return (await body(api.POST("/api/v1/callbacks/endpoints", { params, body: json }))).secret;
}

function EndpointForm({
  endpoint,
  onDone,
}: {
  readonly endpoint: Endpoint | null;
  readonly onDone: () => void;
}) {
  const { register, handleSubmit, setError, watch, formState } = useForm<Values>({
    defaultValues: valuesOf(endpoint),
  });
  const [formError, setFormError] = useState<Error | null>(null);
  const write = useKeyedWrite();
  const save = useMutation({
    mutationFn: (values: Values) => {
      const shown = formState.defaultValues as Values;
      return write(values, (key) => saveEndpoint(endpoint, { shown, values }, key));
    },
    onMutate: () => setFormError(null),
    onSuccess: async (secret) => {
      await queryClient.invalidateQueries({ queryKey: ["callback-endpoints"] });
      if (secret === null) onDone();
    },
    onError: (error, { all }) => {
      // The list of types, which shows their error, is there only for some of them.
      const shown = ["url", "description", ...(all ? [] : (["types"] as const))] as const;
      setFormError(showFieldErrors(error, shown, setError));
    },
  });
  if (save.data) return <NewSecret secret={save.data} onDone={onDone} />;
  const { errors } = formState;
  return (
    <form
      className="flex flex-col gap-4"
      noValidate
      onSubmit={(event) => void handleSubmit((values) => save.mutate(values))(event)}
    >
      <TextField
        label="URL"
        type="url"
        placeholder="https://"
        error={errors.url?.message}
        {...register("url", { required: "Enter the URL of your program" })}
      />
      <TextField
        label="Description"
        error={errors.description?.message}
        {...register("description")}
      />
      <label className="flex items-center gap-2">
        <input type="checkbox" {...register("all")} />
        Every event, also of types to come
      </label>
      {!watch("all") && <EventTypes register={register("types")} error={errors.types?.message} />}
      <UnsavedChanges isChanged={formState.isDirty} />
      <FormError error={formError} />
      <FormActions submit={handleSubmit((values) => save.mutateAsync(values))}>
        <Button onClick={onDone}>Cancel</Button>
        <Button kind="primary" type="submit" busy={save.isPending}>
          {endpoint ? "Save" : "Create endpoint"}
        </Button>
      </FormActions>
    </form>
  );
}

function EventTypes({
  register,
  error,
}: {
  readonly register: object;
  readonly error: string | undefined;
}) {
  const { data: known = [] } = useQuery(eventTypesQuery);
  return (
    <CheckList legend="Events" count={known.length} error={error}>
      {known.map(({ type, summary }) => (
        <label key={type} className="flex items-start gap-2">
          <input type="checkbox" value={type} className="mt-1" {...register} />
          <span className="min-w-0">
            <span className="font-mono text-xs wrap-anywhere">{type}</span>
            <span className="text-muted block text-xs">{summary}</span>
          </span>
        </label>
      ))}
    </CheckList>
  );
}

function NewSecret({ secret, onDone }: { readonly secret: string; readonly onDone: () => void }) {
  return (
    <div className="flex flex-col gap-4">
      <p role="status">
        The endpoint receives events from now on. Your program checks with this secret that they are
        from here.
      </p>
      <CopyField label="Secret" name="secret" text={secret} />
      <Button className="self-end" kind="primary" onClick={onDone}>
        Done
      </Button>
    </div>
  );
}
