import { useMutation, useQuery } from "@tanstack/react-query";
import { numbersQuery } from "../../api/chat.ts";
import {
  createChatNumber,
  deleteChatNumber,
  syncChatNumber,
  updateChatNumber,
  type ChatNumber,
} from "../../api/chat-numbers.ts";
import { template_qualities } from "../../messages/template-statuses.ts";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import type { FormField, FormValues } from "../../ui/form-fields.tsx";
import { ListSection } from "../../ui/list-section.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { RowActions } from "../../ui/row-actions.tsx";
import { HoldNotice } from "../chat/hold-notice.tsx";
import { Credentials } from "./credentials.tsx";

const name: FormField = { name: "name", label: "Name", kind: "text" };

const rate: FormField = {
  name: "rate_per_second",
  label: "Messages a second",
  kind: "number",
  note: "WhatsApp allows 80 at first, and 1,000 after an upgrade.",
};

const phone: FormField = {
  name: "phone_number",
  label: "Phone number",
  kind: "text",
  note: "With + and the country code.",
};

const of_whatsapp: readonly FormField[] = [
  { name: "provider_phone_number_id", label: "Phone number ID at Meta", kind: "text" },
  { name: "business_account_id", label: "WhatsApp business account ID", kind: "text" },
  { name: "account_id", label: "Account", kind: "number", empty: "This one" },
];

const active: FormField = { name: "active", label: "Campaigns may use it", kind: "check" };

const create = (driver: ChatNumber["driver"]) => (json: FormValues, _: FormValues, key: string) =>
  createChatNumber({ driver, ...json } as Parameters<typeof createChatNumber>[0], key);

/** The numbers that messages are sent from. */
export function ChatNumbersPage() {
  const numbers = useQuery(numbersQuery);
  const may = useMay("chat.manage");
  const mayOperate = useMay("installation.manage");
  const held = [
    ...new Map(
      (numbers.data ?? [])
        .flatMap(({ holds }) => holds)
        .map((hold) => [`${hold.scope} ${hold.subject_id} ${hold.reason}`, hold]),
    ).values(),
  ];
  return (
    <Page
      title="Chat numbers"
      text="The numbers that messages are sent from, as WhatsApp rates them."
      actions={
        may && (
          <>
            <FormDialog
              title="Add a sandbox number"
              text="A simulated number: no message leaves this server."
              fields={[name, phone]}
              action="Add the number"
              save={create("sandbox")}
              trigger={<Button>Add a sandbox number</Button>}
            />
            {mayOperate && (
              <FormDialog
                title="Add a WhatsApp number"
                text="The access token reaches it by the IDs that Meta shows beside the number."
                fields={[name, phone, ...of_whatsapp, rate]}
                known={{ rate_per_second: 80 }}
                action="Add the number"
                save={create("whatsapp")}
                trigger={<Button kind="primary">Add a WhatsApp number</Button>}
              />
            )}
          </>
        )
      }
    >
      {held.map((hold) => (
        <HoldNotice key={`${hold.scope} ${hold.subject_id} ${hold.reason}`} {...hold} hold={hold} />
      ))}
      <ListSection
        title="Numbers"
        empty="None yet. A campaign needs a number to send from."
        query={numbers}
        columns={may ? [...columns, actions] : columns}
        keyOf={({ id }) => id}
      />
      {mayOperate && <Credentials />}
    </Page>
  );
}

const quality_tones: Readonly<Record<string, Tone>> = {
  GREEN: "good",
  YELLOW: "warning",
  RED: "bad",
};

const columns: readonly Column<ChatNumber>[] = [
  {
    header: "Name",
    cell: (number) => (
      <span className="inline-block min-w-16 wrap-anywhere">
        {number.name}
        <span className="text-muted block text-xs font-normal whitespace-nowrap tabular-nums">
          +{number.phone_number}
        </span>
      </span>
    ),
  },
  { header: "State", cell: (number) => <NumberState number={number} /> },
  {
    header: "Quality",
    wide: true,
    cell: ({ quality }) => (
      <Badge tone={quality_tones[quality] ?? "neutral"}>
        {template_qualities[quality] ?? quality}
      </Badge>
    ),
  },
  {
    header: "Kind",
    wide: true,
    cell: ({ driver }) => (driver === "sandbox" ? "Sandbox" : "WhatsApp"),
  },
  {
    header: "Messages a second",
    numeric: true,
    wide: true,
    cell: ({ rate_per_second }) => formatCount(rate_per_second),
  },
];

function NumberState({ number: { active: isActive, holds } }: { readonly number: ChatNumber }) {
  if (!isActive) return <Badge tone="neutral">Inactive</Badge>;
  return holds.length > 0 ? (
    <Badge tone="warning">On hold</Badge>
  ) : (
    <Badge tone="good">Ready</Badge>
  );
}

const actions: Column<ChatNumber> = {
  header: "Action",
  cell: (number) => (
    <RowActions
      name={number.name}
      change={{
        fields: [name, rate, active],
        known: number,
        save: (json) => updateChatNumber(number.id, json),
      }}
      remove={{
        text: "Only a number without campaigns can be deleted. Another can be made inactive.",
        act: () => deleteChatNumber(number.id),
      }}
    >
      <SyncButton number={number} />
    </RowActions>
  ),
};

function SyncButton({ number: { id, name: named } }: { readonly number: ChatNumber }) {
  const sync = useMutation({ mutationFn: () => syncChatNumber(id) });
  return (
    <>
      <Button
        kind="quiet"
        aria-label={`Refresh ${named}`}
        busy={sync.isPending}
        onClick={() => sync.mutate()}
      >
        Refresh
      </Button>
      <FormError error={sync.error} />
    </>
  );
}
