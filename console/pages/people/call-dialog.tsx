import { placeCall } from "../../api/calls.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormField } from "../../ui/form-fields.tsx";
import { toasts } from "../../ui/toasts.tsx";

type Props = {
  /** Ten digits. */
  readonly number: string;
  /** The user's own extension or phone number. */
  readonly from: string;
};

const fields: readonly FormField[] = [
  { name: "from_number", label: "Your extension or phone number", kind: "text" },
];

/** Calls a person: first the agent's phone, then theirs. */
export function CallDialog({ number, from }: Props) {
  return (
    <FormDialog
      title="Call this number"
      text="Your phone rings first. The other one is called once you have answered."
      fields={fields}
      known={{ from_number: from }}
      action="Call"
      save={async (json) => {
        await placeCall({ ...json, to_number: number } as Parameters<typeof placeCall>[0]);
        toasts.add({ title: "Your phone rings", description: `Then ${number} is called.` });
      }}
      trigger={<Button>Call</Button>}
    />
  );
}
