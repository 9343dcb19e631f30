import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { campaignQuery } from "../../api/chat.ts";
import { useRefresh } from "../../api/live.ts";
import { personQuery } from "../../api/people.ts";
import { repliesQuery, type Reply } from "../../api/replies.ts";
import { recipient_reasons } from "../../messages/chat-reasons.ts";
import { reasonOf } from "../../messages/reason.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { AnswerForm } from "./answer-form.tsx";
import { replyText } from "./reply-text.ts";

const route = getRouteApi("/shell/chat/replies/$phone");

/** What one person wrote and what was answered, with the field for the next answer. */
export function ConversationPage() {
  const { phone } = route.useParams();
  const replies = useInfiniteQuery(repliesQuery({ phone_number: phone }));
  const { data: person } = useQuery(personQuery(phone));
  useRefresh(["chat.reply.received"], ["replies"]);
  const newest_first = replies.data?.pages.flatMap(({ data }) => data) ?? [];
  const latest = newest_first[0];
  return (
    <Page
      title={
        <>
          {person?.name}{" "}
          <span className={person?.name ? "text-muted font-normal" : ""}>{phone}</span>
        </>
      }
      text="What this person wrote, and your account's answers."
      actions={
        <Link to="/people/$phone" params={{ phone }} className={buttonClass()}>
          Person
        </Link>
      }
    >
      <FormError error={replies.error} />
      {replies.isSuccess && !latest && (
        <EmptyState title="No replies" text="This person has not written to you." />
      )}
      {latest && (
        <div className="border-line bg-panel flex max-w-3xl flex-col gap-5 rounded-xl border p-4 md:p-5">
          {replies.hasNextPage && (
            <Button className="self-center" onClick={() => void replies.fetchNextPage()}>
              Show earlier
            </Button>
          )}
          <ol aria-label="Messages" aria-live="polite" className="flex flex-col gap-3">
            {newest_first.toReversed().map((reply) => (
              <Exchange key={reply.id} reply={reply} />
            ))}
          </ol>
          <AnswerForm key={phone} reply={latest} />
        </div>
      )}
    </Page>
  );
}

/** A message and the answers to it. */
function Exchange({ reply }: { readonly reply: Reply }) {
  return (
    <>
      {reply.campaign_id !== null && <Answered campaign={reply.campaign_id} />}
      <li className="bg-hover max-w-[85%] self-start rounded-2xl rounded-bl-none px-4 py-2.5">
        <p className="wrap-anywhere whitespace-pre-wrap">{replyText(reply)}</p>
        <p className="text-muted mt-1 text-xs">
          <Time at={reply.received_at} />
          {reply.opted_out && <span className="text-danger"> · Opted out</span>}
        </p>
      </li>
      {reply.answers.map(({ message_id, text, outcome, error, sent_at }) => (
        <li
          key={message_id}
          className="bg-accent-soft max-w-[85%] self-end rounded-2xl rounded-br-none px-4 py-2.5"
        >
          <p className="wrap-anywhere whitespace-pre-wrap">{text}</p>
          <p className="text-muted mt-1 text-xs">
            <Time at={sent_at} />
            {outcome === "failed" && (
              <span className="text-danger">
                {" "}
                · Not sent: {reasonOf(recipient_reasons, error).text}
              </span>
            )}
            {outcome === "unknown" && " · It may have been sent"}
          </p>
        </li>
      ))}
    </>
  );
}

/** The campaign whose message was answered. */
function Answered({ campaign: id }: { readonly campaign: number }) {
  const { data: campaign } = useQuery(campaignQuery(id));
  return (
    <li className="text-muted self-end text-xs">
      Your message of{" "}
      <Link to="/chat/campaigns/$id" params={{ id }} className="underline">
        {campaign?.name ?? `campaign ${id}`}
      </Link>
    </li>
  );
}
