import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { showFieldErrors } from "../../ui/show-field-errors.ts";
import { TextField } from "../../ui/text-field.tsx";

type Values = { number: string };

/** Adds an extension or a phone to a group, as the last. */
export function AddMemberForm({ id }: { readonly id: number }) {
  const { register, handleSubmit, setError, reset, formState } = useForm<Values>();
  const [formError, setFormError] = useState<Error | null>(null);
  const add = useMutation({
    mutationFn: async (json: Values) => {
      await api.POST("/api/v1/agent-groups/{id}/members", {
        params: { path: { id } },
        body: json,
      });
      await queryClient.invalidateQueries({ queryKey: ["agent-groups"] });
    },
    onMutate: () => setFormError(null),
    onSuccess: () => reset({ number: "" }),
    onError: (error) => setFormError(showFieldErrors(error, ["number"], setError)),
  });
  return (
    <form
      className="flex flex-col gap-3"
      noValidate
      onSubmit={(event) => void handleSubmit((values) => add.mutate(values))(event)}
    >
      <TextField
        label="Extension or phone number"
        error={formState.errors.number?.message}
        {...register("number", { required: "Enter an extension or a number" })}
      />
      <FormError error={formError} />
      <FormActions submit={handleSubmit((values) => add.mutateAsync(values))} align="start">
        <Button type="submit" busy={add.isPending}>
          Add a member
        </Button>
      </FormActions>
    </form>
  );
}
