import { ComposerLayout } from "../../campaigns/composer-layout.tsx";
import { ComposerForm } from "./composer-form.tsx";
import { DryRun } from "./dry-run.tsx";
import { PhonePreview } from "./phone-preview.tsx";
import { useComposer } from "./use-composer.ts";

/** Composes a campaign. Its last step is always the dry run, which names what the button then does. */
export function ComposerPage() {
  const composer = useComposer();
  const { draft, template, contacts, dryRun, check, discard, isNew, isContinued } = composer;
  return (
    <ComposerLayout
      title="New chat campaign"
      text="Nothing is sent before you have seen the dry run."
      form={<ComposerForm composer={composer} />}
      dryRun={dryRun.data ? <DryRun composer={composer} preview={dryRun.data} /> : null}
      preview={
        <PhonePreview template={template} contacts={draft.source === "list" ? contacts : []} />
      }
      isChecking={dryRun.isPending}
      isNew={isNew}
      isContinued={isContinued}
      onCheck={() => check()}
      onDiscard={discard}
    />
  );
}
