import { Button } from "../../../ui/button.tsx";
import { Page } from "../../../ui/page.tsx";
import { ComposerForm } from "./composer-form.tsx";
import { DryRun } from "./dry-run.tsx";
import { PhonePreview } from "./phone-preview.tsx";
import { useComposer } from "./use-composer.ts";

/** Composes a campaign. Its last step is always the dry run, which names what the button then does. */
export function ComposerPage() {
  const composer = useComposer();
  const { draft, template, contacts, dryRun, check, discard } = composer;
  return (
    <Page
      title="New chat campaign"
      text="Nothing is sent before you have seen the dry run."
      actions={
        <Button kind="quiet" onClick={discard}>
          Discard draft
        </Button>
      }
    >
      <div className="grid items-start gap-6 lg:grid-cols-[1fr_19rem]">
        {dryRun.data ? (
          <DryRun composer={composer} preview={dryRun.data} />
        ) : (
          <form
            noValidate
            className="flex flex-col gap-6"
            onSubmit={(event) => {
              event.preventDefault();
              check();
            }}
          >
            <ComposerForm composer={composer} />
            <Button kind="primary" type="submit" busy={dryRun.isPending} className="self-start">
              Check with a dry run
            </Button>
          </form>
        )}
        <PhonePreview template={template} contacts={draft.source === "list" ? contacts : []} />
      </div>
    </Page>
  );
}
