import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";

/** The buttons that put a choice or field of leads out of use, or delete one that no lead uses. */
export function ArchiveAndDelete({
  label,
  archive_text,
  delete_text,
  archive,
  remove,
}: {
  readonly label: string;
  readonly archive_text: string;
  readonly delete_text: string;
  readonly archive: () => Promise<unknown>;
  readonly remove: () => Promise<unknown>;
}) {
  return (
    <>
      <ConfirmDialog
        title={`Archive ${label}?`}
        text={archive_text}
        action="Archive"
        kind="primary"
        trigger={
          <Button kind="quiet" aria-label={`Archive ${label}`}>
            Archive
          </Button>
        }
        act={archive}
      />
      <ConfirmDialog
        title={`Delete ${label}?`}
        text={delete_text}
        action="Delete"
        trigger={
          <Button kind="quiet" aria-label={`Delete ${label}`}>
            Delete
          </Button>
        }
        act={remove}
      />
    </>
  );
}
