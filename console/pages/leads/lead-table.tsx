import { useMemo } from "react";
import type { Lead } from "../../api/leads.ts";

/** The leads of one or more pages; on a phone only what names the person. */
export function LeadTable({
  leads,
  loading,
  time_zone,
}: {
  readonly leads: readonly Lead[];
  readonly loading: boolean;
  readonly time_zone: string;
}) {
  const created = useMemo(
    () =>
      new Intl.DateTimeFormat(undefined, {
        dateStyle: "medium",
        timeStyle: "short",
        timeZone: time_zone,
      }),
    [time_zone],
  );
  const wide = "max-md:hidden";
  return (
    <div className="border-line bg-panel overflow-x-auto rounded-xl border">
      <table className="w-full text-left" aria-busy={loading}>
        <thead className="text-muted border-line border-b text-xs">
          <tr className="*:px-4 *:py-2.5 *:font-medium">
            <th scope="col">Name</th>
            <th scope="col">Phone</th>
            <th scope="col">Status</th>
            <th scope="col" className={wide}>
              Source
            </th>
            <th scope="col" className={wide}>
              Priority
            </th>
            <th scope="col" className={wide}>
              Created
            </th>
          </tr>
        </thead>
        <tbody>
          {leads.map((lead) => (
            <tr
              key={lead.id}
              className="border-line hover:bg-hover border-b *:px-4 *:py-2.5 last:border-0"
            >
              <th scope="row" className="font-medium">
                {lead.name}
                {lead.email && (
                  <span className="text-muted block text-xs font-normal">{lead.email}</span>
                )}
              </th>
              <td className="tabular-nums">{lead.phone}</td>
              <td>{lead.status.label}</td>
              <td className={wide}>{lead.source?.label ?? "–"}</td>
              <td className={wide}>{lead.priority.label}</td>
              <td className={`${wide} text-muted whitespace-nowrap`}>
                <time dateTime={lead.createdAt}>{created.format(new Date(lead.createdAt))}</time>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
