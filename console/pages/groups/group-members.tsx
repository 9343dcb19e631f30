import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { membersQuery, removeMember, type Member } from "../../api/groups.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { Time } from "../../ui/time.tsx";

const route = getRouteApi("/shell/groups/$id");

/** The members of a group, found by number. */
export function GroupMembers({
  id,
  may_manage,
}: {
  readonly id: number;
  readonly may_manage: boolean;
}) {
  const { phone_number } = route.useSearch();
  const navigate = route.useNavigate();
  const members = useInfiniteQuery(membersQuery(id, phone_number));
  const table = pagedRows(members);
  return (
    <>
      <SearchField
        label="Number"
        placeholder="Number"
        value={phone_number}
        onSearch={(text) =>
          void navigate({ search: text === undefined ? {} : { phone_number: text } })
        }
      />
      <FormError error={members.error} />
      {members.isSuccess && table.rows.length === 0 ? (
        <EmptyState
          title={phone_number === undefined ? "No members yet" : "Nobody with this number"}
          text="Add members by pasting numbers or from a CSV file."
        />
      ) : (
        (members.data || !members.error) && (
          <DataTable
            label="Members"
            columns={columnsOf(id, may_manage)}
            {...table}
            keyOf={(row) => row.id}
          />
        )
      )}
    </>
  );
}

function columnsOf(id: number, may_manage: boolean): readonly Column<Member>[] {
  return [
    {
      header: "Number",
      cell: ({ phone_number }) => (
        <Link
          to="/people/$phone"
          params={{ phone: `+${phone_number}` }}
          className="hover:underline"
        >
          +{phone_number}
        </Link>
      ),
    },
    { header: "Name", cell: ({ name }) => <span className="break-words">{name ?? "–"}</span> },
    {
      header: "Variables",
      wide: true,
      cell: ({ variables }) => (
        <span className="text-muted line-clamp-2 text-xs wrap-anywhere">
          {Object.entries(variables)
            .map(([key, value]) => `${key}: ${value}`)
            .join(" · ")}
        </span>
      ),
    },
    { header: "Added", wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
    ...(may_manage
      ? [
          {
            header: "Action",
            cell: (member: Member) => (
              <ConfirmDialog
                title="Remove this member?"
                text={`+${member.phone_number} leaves the group. Nothing else of this person changes.`}
                action="Remove member"
                trigger={
                  <Button kind="quiet" aria-label={`Remove +${member.phone_number}`}>
                    <X aria-hidden className="size-4" />
                  </Button>
                }
                act={() => removeMember(id, member.id)}
              />
            ),
          },
        ]
      : []),
  ];
}
