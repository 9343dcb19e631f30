import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { accountQuery, type Account } from "../../api/account.ts";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { setting_sections } from "./account-fields.ts";
import { AccountSection } from "./account-section.tsx";

/** The account's settings. */
export function AccountPage() {
  const { data: account, error } = useQuery(accountQuery);
  const may = useMay("account.manage");
  const [changed, setChanged] = useState<Readonly<Record<string, boolean>>>({});
  return (
    <Page title="Account" text="What applies to everyone and to every campaign of the account.">
      <UnsavedChanges isChanged={Object.values(changed).includes(true)} />
      <FormError error={error} />
      {account && (
        <div className="flex max-w-4xl flex-col gap-6">
          {may &&
            setting_sections.map((section) => (
              <AccountSection
                key={section.title}
                account={account}
                section={section}
                onChanged={(isChanged) =>
                  setChanged((old) => ({ ...old, [section.title]: isChanged }))
                }
              />
            ))}
          <Limits account={account} />
        </div>
      )}
    </Page>
  );
}

/** What an operator has set for the account. */
function Limits({ account: { requests, chat, calls, storage } }: { readonly account: Account }) {
  const rows = [
    ["Requests a minute", formatCount(requests.a_minute)],
    ["New chat campaigns a minute", formatCount(chat.writes_a_minute)],
    ["A call credit pays for", `${formatCount(calls.pulse_seconds)} seconds`],
    [
      "Countries that may be called",
      calls.destinations_allowed.includes("*") ? "All" : calls.destinations_allowed.join(", "),
    ],
    ["Calling hours must be within", calls.calling_hours_allowed ?? "Any hours"],
    [
      "Storage",
      `${formatCount(Math.round(storage.used_bytes / 1_000_000))} of ${formatCount(storage.megabytes_max)} MB`,
    ],
  ] as const;
  return (
    <Panel title="Set by the operator">
      <dl className="grid gap-x-6 gap-y-2 sm:grid-cols-[auto_1fr]">
        {rows.map(([label, value]) => (
          <div key={label} className="contents">
            <dt className="text-muted">{label}</dt>
            <dd className="wrap-anywhere">{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
