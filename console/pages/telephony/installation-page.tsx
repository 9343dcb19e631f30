import { Page } from "../../ui/page.tsx";
import { NumberAssignments } from "./number-assignments.tsx";
import { Trunks } from "./trunks.tsx";
import { VoiceNodes } from "./voice-nodes.tsx";

/** What an operator sets up for the calls of every account. */
export function InstallationPage() {
  return (
    <Page
      title="Installation"
      text="What the calls of every account run on: nodes, trunks, and the numbers that accounts have."
    >
      <VoiceNodes />
      <Trunks />
      <NumberAssignments />
    </Page>
  );
}
