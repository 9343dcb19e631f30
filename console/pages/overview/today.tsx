import type { ReactNode } from "react";
import type { Overview } from "../../api/overview.ts";
import { formatCount, formatShare, formatUpTo } from "../../ui/numbers.ts";
import { PageLink } from "../../ui/page-link.tsx";
import { Stat } from "../../ui/stat.tsx";

/** At which the service stops to count replies and calls. */
const counted_max = 100_000;

/** Today's numbers, as far as the user may see them. */
export function Today({ overview: { chat, calls, credits } }: { readonly overview: Overview }) {
  if (!chat && !calls && !credits) return null;
  return (
    <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      {chat && <Messages {...chat} />}
      {calls && <Calls {...calls} />}
      {credits && <Credits {...credits} />}
    </dl>
  );
}

function Messages({ sent, delivered, failed, replies }: NonNullable<Overview["chat"]>) {
  return (
    <>
      <Stat
        label="Messages today"
        hint={
          <>
            {formatCount(delivered)} delivered
            {failed > 0 && `, ${formatCount(failed)} failed`}
          </>
        }
      >
        {formatCount(sent)}
      </Stat>
      <Stat
        label="Replies today"
        hint={
          <PageLink to="/chat/replies" className="text-accent underline" otherwise={null}>
            Read them
          </PageLink>
        }
      >
        {formatUpTo(replies, counted_max)}
      </Stat>
    </>
  );
}

function Calls({ calls, answered, ended, in_progress }: NonNullable<Overview["calls"]>) {
  return (
    <Stat
      label="Calls today"
      hint={
        <>
          {ended === 0 ? "None has ended yet" : `${formatShare(answered, ended)} answered`}
          {calls >= counted_max && " of the newest"}
          {in_progress > 0 && `, ${formatCount(in_progress)} in progress`}
        </>
      }
    >
      {formatUpTo(calls, counted_max)}
    </Stat>
  );
}

function Credits({ chat, call }: NonNullable<Overview["credits"]>) {
  return (
    <Stat
      label="Credit for messages"
      hint={
        <>
          {formatCount(call.available)} for calls
          {low("chat", chat.is_low)}
          {low("call", call.is_low)}
        </>
      }
    >
      {formatCount(chat.available)}
    </Stat>
  );
}

const low = (kind: "chat" | "call", is_low: boolean): ReactNode =>
  is_low && (
    <span className="text-warning block">
      {kind === "chat" ? "Few are left for messages." : "Few are left for calls."}
    </span>
  );
