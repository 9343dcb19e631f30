import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleCheck, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { useRefresh } from "../../api/live.ts";
import type { Overview } from "../../api/overview.ts";
import { queryClient } from "../../api/query-client.ts";
import { answer_events, repliesQuery, type Reply } from "../../api/replies.ts";
import { rejection_reasons, template_statuses } from "../../messages/template-statuses.ts";
import { voice_holds as voice_hold_words } from "../../messages/voice-reasons.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { PageLink } from "../../ui/page-link.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { Time } from "../../ui/time.tsx";
import { useNow } from "../../ui/use-now.ts";
import { resumeCampaign } from "../chat/change-campaign.ts";
import { LiftHold } from "../chat/lift-hold.tsx";
import { useHoldWords } from "../chat/use-hold-words.ts";
import { isAnswered, latestOfEach } from "../replies/reply-text.ts";
import { window_ms } from "../replies/reply-window.ts";

type ChatHold = NonNullable<Overview["chat_holds"]>[number];

/** What does not go on without a person, each with what helps. */
export function Attention({ overview }: { readonly overview: Overview }) {
  const { chat_holds, voice_holds, failing_callbacks, rejected_templates } = overview;
  const unanswered = useUnanswered();
  const items = [
    ...(unanswered.count > 0 || unanswered.is_more
      ? [<Unanswered key="replies" {...unanswered} />]
      : []),
    ...(chat_holds ?? []).map((hold) => (
      <Hold key={`hold ${hold.scope} ${hold.subject_id} ${hold.reason}`} hold={hold} />
    )),
    ...(voice_holds ?? []).map((hold) => (
      <VoiceHold key={`voice ${hold.campaign_id} ${hold.reason}`} {...hold} />
    )),
    ...(rejected_templates ?? []).map((template) => (
      <Template key={`template ${template.id}`} {...template} />
    )),
    ...(failing_callbacks ?? []).map((endpoint) => (
      <Callback key={`callback ${endpoint.id}`} {...endpoint} />
    )),
  ];
  return (
    <Panel title="Needs attention">
      {items.length === 0 ? (
        <p className="text-muted flex items-center gap-2">
          <CircleCheck aria-hidden className="text-good size-4" />
          Nothing waits for you.
        </p>
      ) : (
        <ul aria-label="Needs attention" className="divide-line flex flex-col divide-y">
          {items}
        </ul>
      )}
    </Panel>
  );
}

type UnansweredCount = {
  readonly count: number;
  /** There are further replies of the 24 hours, which are not read: more people may wait. */
  readonly is_more: boolean;
};

/** Returns how many people wrote within 24 hours, as their last message, and have no answer. */
function useUnanswered(): UnansweredCount {
  const enabled = useMay("chat.read");
  const oldest = useNow(60_000) - window_ms;
  const { data } = useInfiniteQuery({ ...repliesQuery({}), enabled });
  useRefresh(["chat.reply.received", ...answer_events], ["replies"]);
  const page = data?.pages[0];
  const isRecent = ({ received_at }: Reply) => Date.parse(received_at) > oldest;
  const waiting = latestOfEach(page?.data ?? []).filter(
    (reply) => !reply.opted_out && !isAnswered(reply) && isRecent(reply),
  );
  const last = page?.data.at(-1);
  return {
    count: waiting.length,
    is_more: page?.next_cursor != null && last !== undefined && isRecent(last),
  };
}

function Unanswered({ count, is_more }: UnansweredCount) {
  const who = count === 1 ? "one person waits" : `${count} people wait`;
  const at_least = count === 0 ? "People may wait" : `At least ${who}`;
  const exactly = count === 1 ? "One person waits" : who;
  return (
    <Item
      title={`${is_more ? at_least : exactly} for an answer`}
      text="WhatsApp takes answers only within 24 hours of a message."
    >
      <Link to="/chat/replies" className={buttonClass()}>
        Open
      </Link>
    </Item>
  );
}

function Item({
  title,
  text,
  children,
}: {
  readonly title: ReactNode;
  readonly text: ReactNode;
  readonly children?: ReactNode;
}) {
  return (
    <li className="flex flex-wrap items-center justify-between gap-3 py-3 first:pt-0 last:pb-0">
      <div className="flex min-w-0 flex-1 basis-64 gap-3">
        <TriangleAlert aria-hidden className="text-warning mt-0.5 size-4 shrink-0" />
        <div className="min-w-0">
          <p className="font-medium wrap-anywhere">{title}</p>
          <p className="text-muted wrap-anywhere">{text}</p>
        </div>
      </div>
      {children && <div className="flex gap-2">{children}</div>}
    </li>
  );
}

function Hold({ hold }: { readonly hold: ChatHold }) {
  const { scope, subject_id, reason, name, set_at } = hold;
  const { label, advice, ends } = useHoldWords(hold);
  const may_resume = useMay("chat.campaigns.manage");
  const resume = useMutation({
    mutationFn: async () => {
      await resumeCampaign(subject_id);
      await queryClient.invalidateQueries({ queryKey: ["overview"] });
    },
  });
  return (
    <Item
      title={name === null ? label : `${name}: ${label}`}
      text={
        <>
          {advice} Since <Time at={set_at} />.
          <FormError error={resume.error} />
        </>
      }
    >
      <LiftHold scope={scope} subject_id={subject_id} reason={reason} />
      {scope === "campaign" && ends === "resume" && may_resume && (
        <Button busy={resume.isPending} onClick={() => resume.mutate()}>
          Resume
        </Button>
      )}
      {scope === "campaign" ? (
        <Link to="/chat/campaigns/$id" params={{ id: subject_id }} className={buttonClass()}>
          Open
        </Link>
      ) : scope === "template" ? (
        <PageLink
          to="/chat/templates/$id"
          params={{ id: subject_id }}
          className={buttonClass()}
          otherwise={null}
        >
          Open
        </PageLink>
      ) : null}
    </Item>
  );
}

function VoiceHold({
  campaign_id,
  name,
  reason,
  set_at,
}: NonNullable<Overview["voice_holds"]>[number]) {
  const { label, advice } = voice_hold_words[reason];
  return (
    <Item
      title={`${name}: ${label}`}
      text={
        <>
          {advice} This voice campaign has placed no calls since <Time at={set_at} />.
        </>
      }
    >
      <Link to="/voice/campaigns/$id" params={{ id: campaign_id }} className={buttonClass()}>
        Open
      </Link>
    </Item>
  );
}

function Template({
  id,
  name,
  rejection_reason,
}: NonNullable<Overview["rejected_templates"]>[number]) {
  const { label, text } = template_statuses.REJECTED;
  const reason = rejection_reason === null ? null : rejection_reasons[rejection_reason];
  return (
    <Item title={`Template ${name}: ${label}`} text={reason ?? text}>
      <PageLink to="/chat/templates/$id" params={{ id }} className={buttonClass()} otherwise={null}>
        Open
      </PageLink>
    </Item>
  );
}

function Callback({
  id,
  url,
  disabled_reason,
  failing_since,
}: NonNullable<Overview["failing_callbacks"]>[number]) {
  return (
    <Item
      title={`Events do not arrive at ${url}`}
      text={
        disabled_reason === null ? (
          <>
            It has failed since {failing_since && <Time at={failing_since} />}. Events are sent
            again at growing intervals.
          </>
        ) : disabled_reason === "gone" ? (
          "It answered 410 Gone and was switched off. If it should receive events, someone must enable it again; events since then can be replayed."
        ) : (
          "It failed for too long and was switched off. Once it answers, someone must enable it again; events since then can be replayed."
        )
      }
    >
      <Link to="/developers/callbacks/$id" params={{ id }} className={buttonClass()}>
        Open
      </Link>
    </Item>
  );
}
