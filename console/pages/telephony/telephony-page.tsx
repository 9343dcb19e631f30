import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { AgentNumbers } from "./agent-numbers.tsx";
import { LiveCalls } from "./live-calls.tsx";
import { NumberAssignments } from "./number-assignments.tsx";
import { PhoneNumbers } from "./phone-numbers.tsx";
import { Trunks } from "./trunks.tsx";
import { VoiceNodes } from "./voice-nodes.tsx";

/** What calls run on: numbers, nodes and trunks. */
export function TelephonyPage() {
  const seesAgents = useMay("agents.read");
  const managesAgents = useMay("agents.manage");
  const mayOperate = useMay("installation.manage");
  const seesCalls = useMay("calls.read");
  return (
    <Page title="Telephony" text="What calls run on: numbers, nodes and trunks.">
      {seesCalls && <LiveCalls />}
      {(seesAgents || managesAgents) && (
        <>
          <PhoneNumbers />
          <AgentNumbers />
        </>
      )}
      {mayOperate && (
        <>
          <VoiceNodes />
          <Trunks />
          <NumberAssignments />
        </>
      )}
    </Page>
  );
}
