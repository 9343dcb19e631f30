import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  numbersQuery,
  recipientRepliesQuery,
  recipientsQuery,
  templatesQuery,
  type CampaignDetail,
  type Recipient,
} from "../../api/chat.ts";
import { useRefresh } from "../../api/live.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { Phone } from "../../ui/phone.tsx";
import { SandboxNumbers } from "../../ui/sandbox-numbers.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { ShowCurl } from "../../ui/show-curl.tsx";
import { TextField } from "../../ui/text-field.tsx";
import { simulateReply } from "./change-campaign.ts";
import { StateBadge } from "./status-badge.tsx";
import { RenderedBubble } from "./template-bubble.tsx";

/** On a sandbox number: a recipient's phone, on which one reads the message and answers it. */
export function SandboxPhone({ campaign }: { readonly campaign: CampaignDetail }) {
  const { id, chat_number_id } = campaign;
  const mayAnswer = useMay("chat.campaigns.manage");
  const mayRead = useMay("chat.read");
  const { data: numbers = [] } = useQuery(numbersQuery);
  const number = numbers.find((one) => one.id === chat_number_id);
  const recipients = useInfiniteQuery(recipientsQuery(id, {}));
  const [chosen, setChosen] = useState("");
  const rows = recipients.data?.pages[0]?.data ?? [];
  const recipient = rows.find((one) => String(one.id) === chosen) ?? rows[0];
  if (number?.driver !== "sandbox" || !mayAnswer || !mayRead || !recipient) return null;
  return (
    <Panel title="Sandbox phone">
      <p className="text-muted">
        The sandbox reaches no one. This is what a recipient would see; what you answer here is
        handled like a customer’s reply.
      </p>
      <div className="grid items-start gap-5 md:grid-cols-[1fr_19rem]">
        <div className="flex min-w-0 flex-col gap-4">
          <SelectField
            label="Recipient"
            name="recipient"
            options={rows.map((one) => ({ value: one.id, label: nameOf(one) }))}
            value={recipient.id}
            onChange={({ target }) => setChosen(target.value)}
          />
          <SandboxNumbers of="messages" />
        </div>
        <RecipientPhone key={recipient.id} campaign={campaign} recipient={recipient} />
      </div>
    </Panel>
  );
}

const nameOf = ({ phone_number, bsuid }: Recipient) =>
  phone_number === null ? (bsuid ?? "") : `+${phone_number}`;

function RecipientPhone({
  campaign: { id, template_id },
  recipient,
}: {
  readonly campaign: CampaignDetail;
  readonly recipient: Recipient;
}) {
  const { data: templates = [] } = useQuery(templatesQuery);
  const template = templates.find((one) => one.id === template_id);
  const { data: replies = [] } = useQuery(recipientRepliesQuery(id, recipient));
  useRefresh(["chat.reply.received"], ["chat-replies", id]);
  const [text, setText] = useState("");
  const answer = useMutation({
    mutationFn: (reply: { text: string; payload?: string }) =>
      simulateReply(id, recipient.id, reply),
    onSuccess: () => setText(""),
  });
  const isThere = recipient.provider_message_id !== null;
  return (
    <div className="flex flex-col gap-3">
      <Phone title={nameOf(recipient)}>
        {isThere && template ? (
          <RenderedBubble
            template={template}
            variables={recipient.variables}
            onPress={(button) => answer.mutate(button)}
          />
        ) : (
          <p className="text-muted m-auto text-center">No message yet.</p>
        )}
        <p>
          <StateBadge state={recipient.state} />
        </p>
        {replies.map((reply) => (
          <p
            key={reply.id}
            className="bg-accent text-on-accent max-w-[85%] self-end rounded-xl rounded-tr-none px-3 py-2 wrap-anywhere"
          >
            {reply.text}
          </p>
        ))}
      </Phone>
      <form
        className="flex items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") answer.mutate({ text });
        }}
      >
        <div className="min-w-0 flex-1">
          <TextField
            label="Answer as this customer"
            name="answer"
            value={text}
            placeholder="STOP"
            disabled={!isThere}
            onValueChange={setText}
          />
        </div>
        <Button type="submit" busy={answer.isPending} disabled={!isThere}>
          Send
        </Button>
      </form>
      <FormError error={answer.error} />
      {isThere && text !== "" && <ShowCurl submit={() => answer.mutateAsync({ text })} />}
    </div>
  );
}
