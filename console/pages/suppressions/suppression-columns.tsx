import { Link } from "@tanstack/react-router";
import type { Suppression } from "../../api/suppressions.ts";
import { describeSource, describeSuppression } from "../../messages/person-history.ts";
import { Badge } from "../../ui/badge.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { Time } from "../../ui/time.tsx";
import { LiftDialog } from "./lift-dialog.tsx";

/** The columns of the list; the last only for those who may lift. */
export function suppressionColumns(may_lift: boolean): readonly Column<Suppression>[] {
  return [
    { header: "Number", cell: (row) => <Who {...row} /> },
    {
      header: "Effect",
      cell: ({ channel, scope, active }) => (
        <span className="flex flex-wrap items-center gap-2">
          {describeSuppression(channel, scope)}
          {!active && <Badge tone="neutral">Expired</Badge>}
        </span>
      ),
    },
    { header: "Source", wide: true, cell: (row) => <Source {...row} /> },
    { header: "Asked", wide: true, cell: ({ occurred_at }) => <Time at={occurred_at} /> },
    {
      header: "Ends",
      wide: true,
      cell: ({ expires_at }) => (expires_at === null ? "When lifted" : <Time at={expires_at} />),
    },
    ...(may_lift
      ? [
          {
            header: "Action",
            cell: (row: Suppression) => row.active && <LiftDialog suppression={row} />,
          },
        ]
      : []),
  ];
}

function Who({ phone_number, bsuid }: Suppression) {
  if (phone_number === null)
    return <span title={bsuid ?? undefined}>WhatsApp user without a number</span>;
  const phone = `+${phone_number}`;
  return (
    <Link to="/people/$phone" params={{ phone }} className="hover:underline">
      {phone}
    </Link>
  );
}

type Evidence = {
  readonly text?: string | null;
  readonly key?: string;
  readonly call_id?: number;
};

/** Who asked, and what proves it. */
function Source({ source, reason, evidence }: Suppression) {
  const { text, key: pressed, call_id } = (evidence ?? {}) as Evidence;
  const quoted = text ? `“${text}”` : null;
  const key = pressed ? `key ${pressed}` : null;
  const call = call_id ? `call ${call_id}` : null;
  const proof = [quoted, key, call].filter((each) => each !== null).join(", ");
  const why = proof || (reason === source ? "" : reason);
  return (
    <>
      <span className="first-letter:uppercase block">{describeSource(source)}</span>
      {why && <span className="text-muted block max-w-80 text-xs wrap-anywhere">{why}</span>}
    </>
  );
}
