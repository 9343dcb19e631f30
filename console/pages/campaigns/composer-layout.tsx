import type { ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Page } from "../../ui/page.tsx";

/** A composer: its form with what people get beside it, and last the dry run. */
export function ComposerLayout({
  title,
  text,
  form,
  dryRun,
  preview,
  isChecking,
  isNew,
  isContinued,
  onCheck,
  onDiscard,
}: {
  readonly title: string;
  readonly text: string;
  readonly form: ReactNode;
  /** Null before there is one. */
  readonly dryRun: ReactNode;
  readonly preview: ReactNode;
  readonly isChecking: boolean;
  /** Whether the draft says nothing yet. */
  readonly isNew: boolean;
  /** Whether the draft was begun before. */
  readonly isContinued: boolean;
  readonly onCheck: () => void;
  readonly onDiscard: () => void;
}) {
  return (
    <Page
      title={title}
      text={isContinued && !isNew ? `You continue the draft that you began. ${text}` : text}
      actions={
        !isNew && (
          <ConfirmDialog
            title="Discard this draft?"
            text="What you filled in is deleted. This cannot be undone."
            action="Discard"
            trigger={<Button kind="quiet">Discard draft</Button>}
            act={async () => onDiscard()}
          />
        )
      }
    >
      <div className="grid items-start gap-6 lg:grid-cols-[1fr_19rem]">
        {dryRun ?? (
          <form
            noValidate
            className="flex flex-col gap-6"
            onSubmit={(event) => {
              event.preventDefault();
              onCheck();
            }}
          >
            {form}
            <Button kind="primary" type="submit" busy={isChecking} className="self-start">
              Check with a dry run
            </Button>
          </form>
        )}
        {preview}
      </div>
    </Page>
  );
}
