import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { tenDigits } from "../../from-server.ts";
import { useRefresh } from "../../api/live.ts";
import { answer_events, repliesQuery, type Reply, type ReplyFilter } from "../../api/replies.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ExportLink } from "../../ui/export-link.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { Time } from "../../ui/time.tsx";
import { isAnswered, latestOfEach, personOf, phoneOf, replyText } from "./reply-text.ts";
import { describeMinutes, useMinutesLeft } from "./reply-window.ts";

const route = getRouteApi("/shell/chat/replies");
const shell = getRouteApi("/shell");

/** What is listed: under a filter by opt-outs, a person may have a later message. */
const aboutList = ({ opted_out }: ReplyFilter) => {
  if (opted_out === undefined) return "What people wrote back, the newest first.";
  return opted_out
    ? "The last opt-out of each person, the newest first. They may have written since."
    : "The last message of each person without an opt-out, the newest first. They may have opted out since.";
};

/** The last message of each person that matches the filter, newest first. */
export function RepliesPage() {
  const filter = route.useSearch();
  const replies = useInfiniteQuery(repliesQuery(filter));
  useRefresh(["chat.reply.received", ...answer_events], ["replies"]);
  const latest = latestOfEach(replies.data?.pages.flatMap(({ data }) => data) ?? []);
  return (
    <Page
      title="Replies"
      text={aboutList(filter)}
      actions={
        <ExportLink path="/api/v1/chat/replies/export" filter={filter} permission="chat.export" />
      }
    >
      <Filters />
      <FormError error={replies.error} />
      {replies.isSuccess && latest.length === 0 ? (
        <EmptyState
          title="No replies"
          text="When somebody answers a message, it appears here at once."
        />
      ) : (
        latest.length > 0 && (
          <ul
            aria-label="People who replied"
            className="border-line bg-panel divide-line divide-y overflow-hidden rounded-xl border"
          >
            {latest.map((reply) => (
              <Person key={reply.id} reply={reply} isLast={filter.opted_out === undefined} />
            ))}
          </ul>
        )
      )}
      {replies.hasNextPage && (
        <Button
          className="self-start"
          busy={replies.isFetchingNextPage}
          onClick={() => void replies.fetchNextPage()}
        >
          Show earlier
        </Button>
      )}
    </Page>
  );
}

function Filters() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const { country_code } = shell.useRouteContext().me.account;
  return (
    <div className="flex flex-wrap gap-2">
      <SearchField
        label="Number"
        placeholder="Number"
        value={filter.phone_number}
        onSearch={(text) => {
          const { phone_number: _, ...rest } = filter;
          const digits = text && tenDigits(text, country_code);
          const phone_number = digits ? `+${country_code}${digits}` : text;
          void navigate({
            search: phone_number === undefined ? rest : { ...rest, phone_number },
          });
        }}
      />
      <FilterSelect
        label="Opt-outs"
        all="All replies"
        value={filter.opted_out === undefined ? undefined : String(filter.opted_out)}
        options={[
          { value: "false", label: "Without opt-outs" },
          { value: "true", label: "Opt-outs only" },
        ]}
        onChange={(chosen) => {
          const { opted_out: _, ...rest } = filter;
          void navigate({
            search: chosen === undefined ? rest : { ...rest, opted_out: chosen === "true" },
          });
        }}
      />
    </div>
  );
}

function Person({
  reply,
  isLast,
}: {
  readonly reply: Reply;
  /** Whether it is known to be the person's last message. */
  readonly isLast: boolean;
}) {
  const person = personOf(reply);
  const minutes = useMinutesLeft(reply.received_at);
  const name = reply.contact_name ?? phoneOf(reply) ?? "WhatsApp user without a number";
  return (
    <li className="hover:bg-hover relative flex flex-wrap items-center justify-between gap-x-6 gap-y-1 px-4 py-3">
      <div className="min-w-0 flex-1 basis-64">
        {person === null ? (
          <p className="font-medium">{name}</p>
        ) : (
          <Link
            to="/chat/replies/$person"
            params={{ person }}
            className="font-medium after:absolute after:inset-0 hover:underline"
          >
            {name}
          </Link>
        )}
        {person !== null && name !== person && (
          <span className="text-muted text-xs wrap-anywhere tabular-nums"> {person}</span>
        )}
        <p dir="auto" className="text-muted line-clamp-2 wrap-anywhere">
          {replyText(reply)}
        </p>
      </div>
      <div className="text-muted flex flex-wrap items-center gap-3 text-xs">
        {reply.opted_out ? (
          <Badge tone="bad">Opted out</Badge>
        ) : isAnswered(reply) ? (
          <Badge tone="good">Answered</Badge>
        ) : (
          isLast && (
            <Badge tone={minutes > 0 ? "busy" : "neutral"}>{describeMinutes(minutes)}</Badge>
          )
        )}
        <Time at={reply.received_at} />
      </div>
    </li>
  );
}
