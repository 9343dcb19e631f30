import { Link } from "@tanstack/react-router";
import { buttonClass } from "../../ui/button.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { AgentNumbers } from "./agent-numbers.tsx";
import { LiveCalls } from "./live-calls.tsx";
import { PhoneNumbers } from "./phone-numbers.tsx";

/** The account's calls and numbers; nodes and trunks are the operator's. */
export function TelephonyPage() {
  const mayOperate = useMay("installation.manage");
  const seesCalls = useMay("calls.read");
  return (
    <Page
      title="Telephony"
      text="The account's phone numbers, and the phones of its agents."
      actions={
        mayOperate && (
          <Link to="/installation" className={buttonClass()}>
            Nodes and trunks
          </Link>
        )
      }
    >
      {seesCalls && <LiveCalls />}
      <PhoneNumbers />
      <AgentNumbers />
    </Page>
  );
}
