import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { placeCall } from "../../api/calls.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormField } from "../../ui/form-fields.tsx";
import { useMay } from "../../ui/permission.ts";
import { toasts } from "../../ui/toasts.tsx";
import { keepOwnPhone, ownPhone } from "../calls/own-phone.ts";

const shell = getRouteApi("/shell");

type Props = {
  /** Ten digits. */
  readonly number: string;
};

const fields: readonly FormField[] = [
  { name: "from_number", label: "Your extension or phone number", kind: "text" },
];

/** Calls a person: first the agent's phone, then theirs. Leads to the call, if the user may see calls. */
export function CallDialog({ number }: Props) {
  const { user } = shell.useRouteContext().me;
  const navigate = useNavigate();
  const placed = useRef<number>(null);
  const may_read = useMay("calls.read");
  const may_see = useMay("calls.manage") || may_read;
  const showCall = () => {
    if (may_see)
      void navigate({
        to: "/calls/new",
        search: { to: number, campaign_id: placed.current ?? undefined },
      });
    else toasts.add({ title: "Your phone rings", description: `Then ${number} is called.` });
  };
  return (
    <FormDialog
      title="Call this number"
      text="Your phone rings first. The other one is called once you have answered."
      fields={fields}
      known={{ from_number: ownPhone(user) }}
      action="Call"
      save={async (json, _, key) => {
        const call = { ...json, to_number: number } as Parameters<typeof placeCall>[0];
        placed.current = await placeCall(call, key);
        keepOwnPhone(user, call.from_number);
      }}
      onDone={showCall}
      trigger={<Button>Call</Button>}
    />
  );
}
