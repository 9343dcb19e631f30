import { getRouteApi, useRouter } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { meQuery } from "../../api/me.ts";
import { queryClient } from "../../api/query-client.ts";
import { InlineText } from "../../ui/inline-fields.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { OwnPasskeys } from "./own-passkeys.tsx";
import { OwnPassword } from "./own-password.tsx";
import { OwnTotp } from "./own-totp.tsx";
import { OwnSessions } from "./own-sessions.tsx";

const shell = getRouteApi("/shell");

/** What people change about themselves. */
export function ProfilePage() {
  const { me } = shell.useRouteContext();
  const router = useRouter();
  const rename = async (name: string) => {
    await api.PATCH("/api/v1/me", { body: { name } });
    queryClient.setQueryData(meQuery.queryKey, { ...me, user: { ...me.user, name } });
    await router.invalidate();
  };
  return (
    <Page title="Your profile" text={`${me.account.name}, account number ${me.account.id}`}>
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <div className="flex flex-col gap-4">
          <Panel title="About you">
            <InlineText
              label="Name"
              name="name"
              saved={me.user.name}
              save={rename}
              disabled={false}
            />
            <dl className="flex flex-col gap-1">
              <dt className="font-medium">Email</dt>
              <dd className="wrap-anywhere">{me.user.email}</dd>
              <dd className="text-muted text-xs">Someone who manages users can change it.</dd>
            </dl>
          </Panel>
          <OwnTotp />
        </div>
        <div className="flex flex-col gap-4">
          <OwnPassword />
          <OwnPasskeys />
        </div>
        <div className="lg:col-span-2">
          <OwnSessions />
        </div>
      </div>
    </Page>
  );
}
