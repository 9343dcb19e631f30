import { ComposerLayout } from "../../campaigns/composer-layout.tsx";
import { CallPreview } from "./call-preview.tsx";
import { useVoiceComposer } from "./use-voice-composer.ts";
import { VoiceComposerForm } from "./voice-composer-form.tsx";
import { VoiceDryRun } from "./voice-dry-run.tsx";

/** Composes a voice campaign. Its last step is always the dry run, which names what the button then does. */
export function VoiceComposerPage() {
  const composer = useVoiceComposer();
  const { dryRun, check, discard, isNew, isContinued } = composer;
  return (
    <ComposerLayout
      title="New voice campaign"
      text="Nobody is called before you have seen the dry run."
      form={<VoiceComposerForm composer={composer} />}
      dryRun={dryRun.data ? <VoiceDryRun composer={composer} preview={dryRun.data} /> : null}
      preview={<CallPreview composer={composer} />}
      isChecking={dryRun.isPending}
      isNew={isNew}
      isContinued={isContinued}
      onCheck={() => check()}
      onDiscard={discard}
    />
  );
}
