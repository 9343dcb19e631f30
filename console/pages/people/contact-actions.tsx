import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { suppressionsQuery } from "../../api/people.ts";
import { tenDigits } from "../../from-server.ts";
import { buttonClass } from "../../ui/button.tsx";
import { useMay } from "../../ui/permission.ts";
import { CallDialog } from "./call-dialog.tsx";

const shell = getRouteApi("/shell");

/** Returns whether the suppressions in force forbid everything on a channel, as far as the user may see them. */
function useForbids(phone: string): (channel: "chat" | "voice") => boolean {
  const enabled = useMay("suppressions.read", "suppressions.manage");
  const { data: rules = [] } = useQuery({ ...suppressionsQuery(phone), enabled });
  return (channel) =>
    // Every call counts as marketing.
    rules.some(
      (rule) =>
        (channel === "voice" || rule.scope === "all") && ["all", channel].includes(rule.channel),
    );
}

type Person = {
  readonly number: string;
  /** Null if it is not known. */
  readonly name: string | null;
};

/** Writes to a number or calls it, unless the person asked for none. */
export function ContactActions({ number, name }: Person) {
  const forbids = useForbids(number);
  return (
    <>
      {!forbids("chat") && <MessageLink number={number} name={name} />}
      {!forbids("voice") && <CallButton number={number} />}
    </>
  );
}

/** Begins a campaign for this number alone: its dry run says what stands against the message. */
function MessageLink({ number, name }: Person) {
  if (!useMay("chat.campaigns.create")) return null;
  return (
    <Link
      to="/chat/campaigns/new"
      search={{ to: number, ...(name === null ? {} : { name }) }}
      className={buttonClass()}
    >
      Message
    </Link>
  );
}

function CallButton({ number }: { readonly number: string }) {
  const { account } = shell.useRouteContext().me;
  // Calls are to ten digits of the account's country (contract 4.4).
  const ten_digits = tenDigits(number, account.country_code);
  if (!account.features.includes("calls") || ten_digits === null) return null;
  return <CallDialog number={ten_digits} />;
}
