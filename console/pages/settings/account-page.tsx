import { useQuery } from "@tanstack/react-query";
import { Fragment, useState } from "react";
import { accountQuery, type Account } from "../../api/account.ts";
import { countryNames } from "../../messages/countries.ts";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { UnsavedChanges } from "../../ui/unsaved-changes.tsx";
import { setting_sections } from "./account-fields.ts";
import { AccountSection } from "./account-section.tsx";
import { CallAudioSection } from "./call-audio-section.tsx";
import { CallDestinationsSection } from "./call-destinations-section.tsx";
import { CallNoticeSection } from "./call-notice-section.tsx";
import type { SectionProps } from "./setting-form.tsx";

/** The account's settings. */
export function AccountPage() {
  const { data: account, error } = useQuery(accountQuery);
  const may = useMay("account.manage");
  const [changed, setChanged] = useState<Readonly<Record<string, boolean>>>({});
  const changes = (name: string) => (isChanged: boolean) =>
    setChanged((old) => ({ ...old, [name]: isChanged }));
  return (
    <Page title="Account" text="What applies to everyone and to every campaign of the account.">
      <UnsavedChanges isChanged={Object.values(changed).includes(true)} />
      <FormError error={error} />
      {account && (
        <div className="flex max-w-4xl flex-col gap-6">
          {may &&
            setting_sections.map((section) => (
              <Fragment key={section.title}>
                <AccountSection
                  account={account}
                  section={section}
                  onChanged={changes(section.title)}
                />
                {section.section === "calls" && (
                  <CallSections account={account} changes={changes} />
                )}
              </Fragment>
            ))}
          <Limits account={account} />
        </div>
      )}
    </Page>
  );
}

/** The settings of calls that are saved apart. An account without a feature has nothing to choose from. */
function CallSections({
  account,
  changes,
}: {
  readonly account: Account;
  readonly changes: (name: string) => SectionProps["onChanged"];
}) {
  return (
    <>
      {account.features.includes("voice") && (
        <CallAudioSection account={account} onChanged={changes("audio")} />
      )}
      <CallDestinationsSection account={account} onChanged={changes("destinations")} />
      {account.features.includes("bulk_chat") && (
        <CallNoticeSection account={account} onChanged={changes("notice")} />
      )}
    </>
  );
}

/** What an operator has set for the account. */
function Limits({ account: { requests, chat, calls, storage } }: { readonly account: Account }) {
  const rows = [
    ["Requests a minute", formatCount(requests.a_minute)],
    ["New chat campaigns a minute", formatCount(chat.writes_a_minute)],
    ["A call credit pays for", `${formatCount(calls.pulse_seconds)} seconds`],
    ["Countries that may be called", countryNames(calls.destinations_allowed) || "None"],
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
