import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { ConfirmDialog } from "./confirm-dialog.tsx";
import { FormDialog } from "./form-dialog.tsx";
import type { FormField, FormValues } from "./form-fields.tsx";

/** What can be done with a row of a list: change it in a dialog, delete it once that is confirmed. */
export function RowActions({
  name,
  change,
  remove,
  children,
}: {
  /** What the row is called. */
  readonly name: string;
  readonly change?: {
    readonly fields: readonly FormField[];
    readonly known: object;
    /** Gets what was changed, and all of it. */
    readonly save: (changed: FormValues, json: FormValues, key: string) => Promise<unknown>;
  };
  readonly remove?: {
    /** What follows from it. */
    readonly text: string;
    readonly act: () => Promise<unknown>;
  };
  /** Other buttons, before these. */
  readonly children?: ReactNode;
}) {
  return (
    // Above the row's own link.
    <span className="relative -my-1 -ml-3.5 flex flex-wrap gap-1">
      {children}
      {change && (
        <FormDialog
          fields={change.fields}
          known={change.known}
          save={async (json, changed, key) => {
            if (Object.keys(changed).length > 0) await change.save(changed, json, key);
          }}
          title={`Change ${name}`}
          action="Save"
          trigger={
            <Button kind="quiet" aria-label={`Change ${name}`}>
              Change
            </Button>
          }
        />
      )}
      {remove && (
        <ConfirmDialog
          title={`Delete ${name}?`}
          text={remove.text}
          action="Delete"
          trigger={
            <Button kind="quiet" aria-label={`Delete ${name}`}>
              Delete
            </Button>
          }
          act={remove.act}
        />
      )}
    </span>
  );
}
