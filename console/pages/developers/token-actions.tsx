import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import type { Token } from "../../api/tokens.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { ShownToken } from "./shown-token.tsx";

const refresh = () => queryClient.invalidateQueries({ queryKey: ["tokens"] });

/** Replaces a token by a new one, or ends it. */
export function TokenActions({ token: { id, name } }: { readonly token: Token }) {
  const [open, setOpen] = useState(false);
  return (
    <span className="-my-1 flex flex-wrap gap-1">
      <Dialog
        title={`Rotate ${name}`}
        text="A new token with the same rights takes its place. Give it to the program before the old one ends."
        trigger={
          <Button kind="quiet" aria-label={`Rotate ${name}`}>
            Rotate
          </Button>
        }
        open={open}
        onOpenChange={setOpen}
      >
        <RotateForm id={id} onDone={() => setOpen(false)} />
      </Dialog>
      <ConfirmDialog
        title={`Revoke ${name}?`}
        text="Programs that use it are refused at once. This cannot be undone."
        action="Revoke"
        trigger={
          <Button kind="quiet" aria-label={`Revoke ${name}`}>
            Revoke
          </Button>
        }
        act={async () => {
          await api.POST("/api/v1/tokens/{id}/revoke", { params: { path: { id } } });
          await refresh();
        }}
      />
    </span>
  );
}

const overlaps = [
  { value: "0", label: "At once" },
  { value: "3600", label: "In an hour" },
  { value: "86400", label: "In a day" },
  { value: "604800", label: "In a week" },
];

function RotateForm({ id, onDone }: { readonly id: number; readonly onDone: () => void }) {
  const [overlap, setOverlap] = useState("3600");
  const rotate = useMutation({
    mutationFn: () =>
      body(
        api.POST("/api/v1/tokens/{id}/rotate", {
          params: { path: { id } },
          body: { overlap_seconds: Number(overlap) },
        }),
      ),
    onSuccess: refresh,
  });
  if (rotate.data) return <ShownToken token={rotate.data} onDone={onDone} />;
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        rotate.mutate();
      }}
    >
      <SelectField
        label="The old token ends"
        name="overlap_seconds"
        options={overlaps}
        value={overlap}
        onChange={({ target }) => setOverlap(target.value)}
      />
      <FormError error={rotate.error} />
      <Button kind="primary" type="submit" className="self-end" busy={rotate.isPending}>
        Rotate
      </Button>
    </form>
  );
}
