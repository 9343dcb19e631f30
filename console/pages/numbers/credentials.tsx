import { useQuery } from "@tanstack/react-query";
import {
  credentialsQuery,
  deleteCredential,
  updateCredential,
  type Credential,
} from "../../api/chat-numbers.ts";
import { Button } from "../../ui/button.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormField, FormValues } from "../../ui/form-fields.tsx";
import { ListSection } from "../../ui/list-section.tsx";
import { RowActions } from "../../ui/row-actions.tsx";
import { Time } from "../../ui/time.tsx";

const secrets: readonly FormField[] = [
  { name: "access_token", label: "Access token", kind: "password" },
  {
    name: "app_secret",
    label: "App secret",
    kind: "password",
    empty: "The installation’s app",
    note: "Of the account’s own Meta app, with its verify token.",
  },
  {
    name: "verify_token",
    label: "Verify token",
    kind: "password",
    empty: "The installation’s app",
  },
];

const account: FormField = {
  name: "account_id",
  label: "Account",
  kind: "number",
  note: "Its number in this installation.",
};

async function save({ account_id, ...json }: FormValues): Promise<void> {
  await updateCredential(Number(account_id), json as Parameters<typeof updateCredential>[1]);
}

/** The accounts that reach WhatsApp by a credential of their own. */
export function Credentials() {
  return (
    <ListSection
      title="Accounts with their own WhatsApp credential"
      text="Every other account uses the installation’s. What is entered is never shown again."
      actions={
        <FormDialog
          title="Set a WhatsApp credential"
          fields={[account, ...secrets]}
          action="Set the credential"
          save={save}
          trigger={<Button>Set a credential</Button>}
        />
      }
      empty="None."
      query={useQuery(credentialsQuery)}
      columns={columns}
      keyOf={({ account_id }) => account_id}
    />
  );
}

const columns: readonly Column<Credential>[] = [
  { header: "Account", cell: ({ account_id }) => account_id },
  {
    header: "Webhooks from",
    cell: ({ own_app }) => (own_app ? "Its own Meta app" : "The installation’s app"),
  },
  { header: "Changed", wide: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
  {
    header: "Action",
    cell: ({ account_id }) => (
      <RowActions
        name={`the credential of account ${account_id}`}
        change={{
          fields: secrets,
          known: {},
          save: (json) => save({ account_id, ...json }),
        }}
        remove={{
          text: "The account’s numbers use the installation’s credential.",
          act: () => deleteCredential(account_id),
        }}
      />
    ),
  },
];
