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

/** With an app of its own, all three are required: without them, its webhooks would be refused. */
const secretsOf = (own_app: boolean): readonly FormField[] => {
  const app = {
    kind: "password",
    ...(own_app ? {} : { empty: "The installation’s app" }),
  } as const;
  return [
    { name: "access_token", label: "Access token", kind: "password" },
    {
      name: "app_secret",
      label: "App secret",
      note: own_app
        ? "Of the account’s own Meta app. Enter it again: what is stored is never shown."
        : "Of the account’s own Meta app, with its verify token.",
      ...app,
    },
    { name: "verify_token", label: "Verify token", ...app },
  ];
};

const account: FormField = {
  name: "account_id",
  label: "Account",
  kind: "number",
  note: "Its number in this installation.",
};

async function add(json: FormValues, known: readonly Credential[]): Promise<void> {
  if (known.some(({ account_id }) => account_id === json["account_id"]))
    throw new Error("This account has a credential: change it in the list.");
  await save(json);
}

async function save({ account_id, ...json }: FormValues): Promise<void> {
  await updateCredential(Number(account_id), json as Parameters<typeof updateCredential>[1]);
}

/** The accounts that reach WhatsApp by a credential of their own. */
export function Credentials() {
  const credentials = useQuery(credentialsQuery);
  return (
    <ListSection
      title="Accounts with their own WhatsApp credential"
      text="Every other account uses the installation’s. What is entered is never shown again."
      actions={
        <FormDialog
          title="Set a WhatsApp credential"
          fields={[account, ...secretsOf(false)]}
          action="Set the credential"
          save={(json) => add(json, credentials.data ?? [])}
          trigger={<Button>Set a credential</Button>}
        />
      }
      empty="None."
      query={credentials}
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
    cell: ({ account_id, own_app }) => (
      <RowActions
        name={`the credential of account ${account_id}`}
        change={{
          fields: secretsOf(own_app),
          known: {},
          save: (_, json) => save({ account_id, ...json }),
        }}
        remove={{
          text: "The account’s numbers use the installation’s credential.",
          act: () => deleteCredential(account_id),
        }}
      />
    ),
  },
];
