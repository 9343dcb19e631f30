import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { invitationsQuery, type Invitation, type Role } from "../../api/users.ts";
import { useMay } from "../../ui/permission.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { InvitedLink } from "./invite-dialog.tsx";

const refresh = () => queryClient.invalidateQueries({ queryKey: ["invitations"] });

/** The invitations that were neither accepted nor revoked. */
export function OpenInvitations({ roles }: { readonly roles: readonly Role[] }) {
  const { data = [], error } = useQuery(invitationsQuery);
  const names = new Map(roles.map(({ id, name }) => [id, name]));
  if (error) return <FormError error={error} />;
  if (data.length === 0) return null;
  return (
    <Panel title="Open invitations">
      <ul aria-label="Open invitations" className="divide-line divide-y">
        {data.map((invitation) => (
          <OpenInvitation
            key={invitation.id}
            invitation={invitation}
            role={invitation.role_id === null ? "No role" : names.get(invitation.role_id)}
          />
        ))}
      </ul>
    </Panel>
  );
}

function OpenInvitation({
  invitation,
  role,
}: {
  readonly invitation: Invitation;
  readonly role: string | undefined;
}) {
  const { id, email, expires_at } = invitation;
  const has_expired = new Date(expires_at) <= new Date();
  const may = useMay("users.manage");
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 py-3 first:pt-0 last:pb-0">
      <div className="min-w-0">
        <p className="font-medium wrap-anywhere">{email}</p>
        <p className="text-muted text-xs">
          {role} ·{" "}
          {has_expired ? (
            <Badge tone="warning">Expired</Badge>
          ) : (
            <>
              valid until <Time at={expires_at} />
            </>
          )}
        </p>
      </div>
      {may && (
        <div className="flex gap-2">
          <NewLink invitation={invitation} />
          <ConfirmDialog
            title="Revoke this invitation?"
            text={`The link of ${email} stops working.`}
            action="Revoke"
            trigger={<Button>Revoke</Button>}
            act={async () => {
              await api.DELETE("/api/v1/invitations/{id}", { params: { path: { id } } });
              await refresh();
            }}
          />
        </div>
      )}
    </li>
  );
}

/** Invites again: the former link stops working. */
function NewLink({ invitation: { email, role_id } }: { readonly invitation: Invitation }) {
  const [open, setOpen] = useState(false);
  const renew = useMutation({
    mutationFn: () => body(api.POST("/api/v1/invitations", { body: { email, role_id } })),
    onSuccess: refresh,
  });
  return (
    <Dialog
      title="New link"
      trigger={<Button>New link</Button>}
      open={open}
      onOpenChange={(opened) => {
        setOpen(opened);
        if (!opened) renew.reset();
      }}
    >
      {renew.data ? (
        <InvitedLink {...renew.data} onDone={() => setOpen(false)} />
      ) : (
        <>
          <p className="text-muted">The link that {email} has stops working.</p>
          <FormError error={renew.error} />
          <div className="flex justify-end gap-2">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button kind="primary" busy={renew.isPending} onClick={() => renew.mutate()}>
              Create a new link
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}
