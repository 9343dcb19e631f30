import { Button } from "../../../ui/button.tsx";
import { Page } from "../../../ui/page.tsx";
import { CallPreview } from "./call-preview.tsx";
import { useVoiceComposer } from "./use-voice-composer.ts";
import { VoiceComposerForm } from "./voice-composer-form.tsx";
import { VoiceDryRun } from "./voice-dry-run.tsx";

/** Composes a voice campaign. Its last step is always the dry run, which names what the button then does. */
export function VoiceComposerPage() {
  const composer = useVoiceComposer();
  const { dryRun, check, discard } = composer;
  return (
    <Page
      title="New voice campaign"
      text="Nobody is called before you have seen the dry run."
      actions={
        <Button kind="quiet" onClick={discard}>
          Discard draft
        </Button>
      }
    >
      <div className="grid items-start gap-6 lg:grid-cols-[1fr_19rem]">
        {dryRun.data ? (
          <VoiceDryRun composer={composer} preview={dryRun.data} />
        ) : (
          <form
            noValidate
            className="flex flex-col gap-6"
            onSubmit={(event) => {
              event.preventDefault();
              check();
            }}
          >
            <VoiceComposerForm composer={composer} />
            <Button kind="primary" type="submit" busy={dryRun.isPending} className="self-start">
              Check with a dry run
            </Button>
          </form>
        )}
        <CallPreview composer={composer} />
      </div>
    </Page>
  );
}
