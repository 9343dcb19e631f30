import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { deleteGroup, groupQuery, renameGroup, type Group } from "../../api/groups.ts";
import { ApiProblem } from "../../api/problem.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { AddMembersDialog } from "./add-members-dialog.tsx";
import { GroupMembers } from "./group-members.tsx";
import { GroupNameForm } from "./group-name-form.tsx";

const route = getRouteApi("/shell/groups/$id");

export function GroupPage() {
  const { id } = route.useParams();
  const { data: group, error } = useQuery(groupQuery(id));
  const may_manage = useMay("groups.manage");
  return (
    <Page
      title={<span className="wrap-anywhere">{group?.name ?? "Group"}</span>}
      text={
        group &&
        `${formatCount(group.members_count)} ${group.members_count === 1 ? "member" : "members"}`
      }
      actions={group && may_manage && <Actions group={group} />}
    >
      {group ? <GroupMembers id={id} may_manage={may_manage} /> : <NoGroup error={error} />}
    </Page>
  );
}

function NoGroup({ error }: { readonly error: Error | null }) {
  if (!error) return <p className="text-muted">Loading…</p>;
  if (!(error instanceof ApiProblem) || error.status !== 404) return <FormError error={error} />;
  return (
    <EmptyState title="There is no such group" text="It may have been deleted.">
      <Link to="/groups" className="text-accent underline">
        All groups
      </Link>
    </EmptyState>
  );
}

function Actions({ group: { id, name } }: { readonly group: Group }) {
  const [renaming, setRenaming] = useState(false);
  const navigate = useNavigate();
  return (
    <>
      <Dialog
        title="Rename the group"
        trigger={<Button>Rename</Button>}
        open={renaming}
        onOpenChange={setRenaming}
      >
        <GroupNameForm
          name={name}
          action="Rename group"
          save={async (changed) => {
            await renameGroup(id, changed);
            setRenaming(false);
          }}
          onCancel={() => setRenaming(false)}
        />
      </Dialog>
      <ConfirmDialog
        title={`Delete ${name}?`}
        text="The group and its members are deleted. Campaigns that were sent to it keep their recipients."
        action="Delete group"
        trigger={<Button>Delete</Button>}
        act={async () => {
          await deleteGroup(id);
          await navigate({ to: "/groups" });
        }}
      />
      <AddMembersDialog id={id} />
    </>
  );
}
