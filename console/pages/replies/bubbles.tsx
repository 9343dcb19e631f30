import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, CheckCheck, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { templatesQuery } from "../../api/chat.ts";
import type { PersonEntry } from "../../api/people.ts";
import type { Reply } from "../../api/replies.ts";
import { recipient_reasons } from "../../messages/chat-reasons.ts";
import { reasonOf } from "../../messages/reason.ts";
import { Time } from "../../ui/time.tsx";
import { RenderedBubble } from "../chat/template-bubble.tsx";
import { replyText } from "./reply-text.ts";

/** What the person wrote. */
export function ReplyBubble({ reply }: { readonly reply: Reply }) {
  return (
    <div className="bg-hover max-w-[85%] self-start rounded-2xl rounded-bl-none px-4 py-2.5">
      <p dir="auto" className="wrap-anywhere whitespace-pre-wrap">
        {replyText(reply)}
      </p>
      <p className="text-muted mt-1 text-xs">
        <Time at={reply.received_at} />
        {reply.opted_out && <span className="text-danger"> · Opted out</span>}
      </p>
    </div>
  );
}

/** What a user answered, and how far it came. */
export function AnswerBubble({ answer }: { readonly answer: Reply["answers"][number] }) {
  const { text, outcome, error, sent_at, status } = answer;
  return (
    <OwnBubble at={sent_at} state={status ?? outcome} error={error}>
      <p dir="auto" className="wrap-anywhere whitespace-pre-wrap">
        {text}
      </p>
    </OwnBubble>
  );
}

/** The message of a campaign, in its text. */
export function MessageBubble({ message: { at, event, data } }: { readonly message: PersonEntry }) {
  const { data: templates } = useQuery(templatesQuery);
  const template = templates?.find(({ id }) => id === data["template_id"]);
  return (
    <OwnBubble at={at} state={event} error={data["error"] as string | null}>
      <p className="text-muted mb-1 text-xs wrap-anywhere">
        Campaign{" "}
        <Link
          to="/chat/campaigns/$id"
          params={{ id: Number(data["campaign_id"]) }}
          className="underline"
        >
          {String(data["campaign_name"])}
        </Link>
      </p>
      {template && (
        <div className="flex flex-col gap-2">
          <RenderedBubble
            template={template}
            variables={data["variables"] as Readonly<Record<string, string>> | null}
          />
        </div>
      )}
    </OwnBubble>
  );
}

function OwnBubble({
  at,
  state,
  error,
  children,
}: {
  readonly at: string;
  readonly state: string;
  readonly error: string | null;
  readonly children: ReactNode;
}) {
  return (
    <div className="bg-accent-soft max-w-[85%] self-end rounded-2xl rounded-br-none px-4 py-2.5">
      {children}
      <p className="text-muted mt-1 text-xs">
        <Time at={at} /> · <State state={state} error={error} />
      </p>
    </div>
  );
}

const ticks: Readonly<Record<string, { icon: LucideIcon; label: string; color?: string }>> = {
  accepted: { icon: Check, label: "Sent" },
  sent: { icon: Check, label: "Sent" },
  delivered: { icon: CheckCheck, label: "Delivered" },
  read: { icon: CheckCheck, label: "Read", color: "text-accent" },
};

function State({ state, error }: { readonly state: string; readonly error: string | null }) {
  const tick = ticks[state];
  if (tick)
    return (
      <span className="whitespace-nowrap">
        <tick.icon aria-hidden className={`inline size-3.5 ${tick.color ?? ""}`} /> {tick.label}
      </span>
    );
  return state === "failed" ? (
    <span className="text-danger">Failed: {reasonOf(recipient_reasons, error).text}</span>
  ) : (
    "It may have been sent"
  );
}
