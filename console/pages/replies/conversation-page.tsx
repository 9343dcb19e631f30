import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useRefresh } from "../../api/live.ts";
import { mergePages } from "../../api/merge-pages.ts";
import { personQuery, personTimelineQuery, type PersonEntry } from "../../api/people.ts";
import { answer_events, repliesQuery, type Reply } from "../../api/replies.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { AnswerForm } from "./answer-form.tsx";
import { AnswerBubble, MessageBubble, ReplyBubble } from "./bubbles.tsx";
import { newestFirst } from "./reply-text.ts";

const route = getRouteApi("/shell/chat/replies/$person");

/**
 * What one person was sent, wrote and was answered, with the field for the next answer. The person is a phone, or a
 * BSUID: then only replies and answers are shown, because messages of campaigns are found by phone.
 */
export function ConversationPage() {
  const { person: address } = route.useParams();
  const has_phone = /^\+?\d+$/.test(address);
  const phone = has_phone ? address : "";
  const replies = useInfiniteQuery(
    repliesQuery(has_phone ? { phone_number: phone } : { bsuid: address }),
  );
  const messages = useInfiniteQuery({
    ...personTimelineQuery(phone, ["message"]),
    refetchOnWindowFocus: true,
    enabled: has_phone,
  });
  const { data: person } = useQuery({ ...personQuery(phone), enabled: has_phone });
  const subject = has_phone ? { phone } : {};
  useRefresh(["chat.reply.received", ...answer_events], ["replies"], subject);
  useRefresh(["chat.reply.received"], ["person", phone], subject);
  const { entries, loadMore } = mergePages<Reply, PersonEntry>(replies, messages, (entry) =>
    isReply(entry) ? entry.received_at : entry.at,
  );
  const bubbles = entries.flatMap(bubblesOf).toSorted((a, b) => a.at.localeCompare(b.at));
  const [latest] = newestFirst(replies.data?.pages.flatMap(({ data }) => data) ?? []);
  const is_loaded = replies.data !== undefined && (!has_phone || messages.data !== undefined);
  return (
    <Page
      title={
        <>
          {person?.name}{" "}
          <span className={person?.name ? "text-muted font-normal" : ""}>{address}</span>
        </>
      }
      text={
        has_phone
          ? "What this person was sent, wrote, and was answered."
          : "What this WhatsApp user without a phone number wrote, and was answered."
      }
      actions={
        has_phone && (
          <Link to="/people/$phone" params={{ phone }} className={buttonClass()}>
            Person
          </Link>
        )
      }
    >
      <FormError error={replies.error ?? messages.error} />
      {is_loaded && bubbles.length === 0 && (
        <EmptyState
          title="No messages"
          text="Nothing was sent to this person, and they have not written."
        />
      )}
      {is_loaded && bubbles.length > 0 && (
        <div className="border-line bg-panel flex max-w-3xl flex-col gap-5 rounded-xl border p-4 md:p-5">
          {loadMore && (
            <Button className="self-center" onClick={loadMore}>
              Show earlier
            </Button>
          )}
          <ol aria-label="Messages" aria-live="polite" className="flex flex-col gap-3">
            {bubbles.map(({ key, bubble }) => (
              <li key={key} className="flex flex-col">
                {bubble}
              </li>
            ))}
          </ol>
          {latest && <AnswerForm key={address} reply={latest} />}
        </div>
      )}
    </Page>
  );
}

const isReply = (entry: Reply | PersonEntry): entry is Reply => "received_at" in entry;

/** A person sees nothing of a message that waits or was omitted. */
const unseen: ReadonlySet<string> = new Set([
  "queued",
  "deferred",
  "dispatching",
  "skipped",
  "cancelled",
]);

function bubblesOf(entry: Reply | PersonEntry) {
  if (!isReply(entry)) {
    const key = `message ${String(entry.data["recipient_id"])}`;
    return unseen.has(entry.event)
      ? []
      : [{ key, at: entry.at, bubble: <MessageBubble message={entry} /> }];
  }
  return [
    { key: `reply ${entry.id}`, at: entry.received_at, bubble: <ReplyBubble reply={entry} /> },
    ...entry.answers.map((answer) => ({
      key: answer.message_id,
      at: answer.sent_at,
      bubble: <AnswerBubble answer={answer} />,
    })),
  ];
}
