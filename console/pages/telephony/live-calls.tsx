import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { callsQuery } from "../../api/call-records.ts";
import { useRefresh } from "../../api/live.ts";
import { formatCount } from "../../ui/numbers.ts";
import { Stat } from "../../ui/stat.tsx";

const states = [
  { status: "queued", label: "Waiting" },
  { status: "ringing", label: "Ringing" },
  { status: "in-progress", label: "Talking" },
] as const;

/** How many calls the account has now, by what happens in them. */
export function LiveCalls() {
  useRefresh(["call.initiated", "call.incoming", "call.answered", "call.completed"], ["calls"]);
  return (
    <dl aria-label="Calls now" className="grid grid-cols-3 gap-3">
      {states.map((state) => (
        <LiveCount key={state.status} {...state} />
      ))}
    </dl>
  );
}

function LiveCount({ status, label }: (typeof states)[number]) {
  const { data } = useInfiniteQuery(callsQuery({ status }));
  const [first] = data?.pages ?? [];
  const more = first?.next_cursor ? "+" : "";
  return (
    <Stat label={label}>
      <Link to="/calls" search={{ status }} className="hover:underline">
        {first ? `${formatCount(first.data.length)}${more}` : "–"}
      </Link>
    </Stat>
  );
}
