import { useMutation } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { Sent } from "../../api/answer.ts";
import type { CallDetail } from "../../api/call-records.ts";
import { api, body } from "../../api/client.ts";
import { keyed } from "../../api/keyed.ts";
import { queryClient } from "../../api/query-client.ts";
import { tookCall } from "../../from-server.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormField } from "../../ui/form-fields.tsx";
import { useMay } from "../../ui/permission.ts";
import { useKeyedWrite } from "../../ui/use-keyed-write.ts";

const shell = getRouteApi("/shell");
const refresh = () => queryClient.invalidateQueries({ queryKey: ["calls"] });

/** The customer of a call, as the address of their page has it. */
export function phoneOfCall({ legs, to_number }: CallDetail, country_code: string): string {
  const dialed = legs.find(({ role }) => role === "customer")?.number;
  if (dialed !== undefined && /^\d{8,15}$/.test(dialed)) return `+${dialed}`;
  if (/^\d{10}$/.test(to_number)) return `+${country_code}${to_number}`;
  return /^\d{11,15}$/.test(to_number) ? `+${to_number}` : to_number;
}

/** Hang up, transfer and call again, as far as they apply now. */
export function CallActions({ call }: { readonly call: CallDetail }) {
  const may = useMay("calls.manage");
  const navigate = useNavigate();
  const write = useKeyedWrite();
  const { country_code } = shell.useRouteContext().me.account;
  const { call_id: id, campaign_id, type, status, ended_at, ended_reason, answered_at } = call;
  if (!may) return null;
  const isSuppressed = ended_reason === "suppressed";
  const canRetry =
    type === "click_to_call" && ended_at !== null && answered_at === null && !isSuppressed;
  return (
    <>
      {status === "in-progress" && <TransferDialog id={id} />}
      {ended_at === null && <EndCall key={id} id={id} />}
      {isSuppressed && (
        <Link
          to="/people/$phone"
          params={{ phone: phoneOfCall(call, country_code) }}
          className={buttonClass()}
        >
          See the suppression
        </Link>
      )}
      {canRetry && (
        <ConfirmDialog
          title="Call the customer again?"
          text="The agent is rung first, then the customer."
          action="Call again"
          kind="primary"
          trigger={<Button>Call again</Button>}
          act={async () => {
            const json = { leg: await legToRetry(campaign_id) };
            const made = await write({ id, ...json }, (key) =>
              body(
                api.POST("/api/v1/calls/{id}/retry", {
                  params: { path: { id }, ...keyed(key) },
                  body: json,
                }),
              ),
            );
            await refresh();
            await navigate({ to: "/calls/$id", params: { id: made.call_id } });
          }}
        />
      )}
    </>
  );
}

/** Returns the leg that did not answer in the last attempt that dialed one, as the API requires. */
async function legToRetry(campaign_id: number): Promise<"agent" | "customer"> {
  const query = { campaign_id, limit: 50 };
  const { data } = await body(api.GET("/api/v1/calls", { params: { query } }));
  const last = data.find(({ legs }) => legs.length > 0);
  const hasAgent = last?.legs.some((leg) => leg.role === "agent" && tookCall(leg));
  return hasAgent ? "customer" : "agent";
}

/** Ends the call at once, as a phone does. */
function EndCall({ id }: { readonly id: number }) {
  const end = useMutation({
    mutationFn: () => api.POST("/api/v1/calls/{id}/hangup", { params: { path: { id } } }),
    // Also if it failed: the call may have ended before.
    onSettled: refresh,
  });
  return (
    <>
      <Button kind="danger" busy={end.isPending || end.isSuccess} onClick={() => end.mutate()}>
        {end.isIdle || end.isError ? "End call" : "Ending the call"}
      </Button>
      <FormError error={end.error} />
    </>
  );
}

const transfer_fields: readonly FormField[] = [
  { name: "extension", label: "Extension", kind: "text" },
];

function TransferDialog({ id }: { readonly id: number }) {
  return (
    <FormDialog
      title="Transfer this call"
      text="Both keep talking until the extension answers."
      fields={transfer_fields}
      action="Transfer"
      save={async (json) => {
        const sent = json as Sent<"transferCall">;
        await api.POST("/api/v1/calls/{id}/transfer", { params: { path: { id } }, body: sent });
        await refresh();
      }}
      trigger={<Button>Transfer</Button>}
    />
  );
}
