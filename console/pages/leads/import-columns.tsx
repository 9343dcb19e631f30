import type { ImportPreview } from "../../api/lead-imports.ts";
import { Panel } from "../../ui/panel.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { useImportFields } from "./import-fields.ts";
import type { ImportDraft } from "./use-import-draft.ts";

/** Which column fills which field of the leads. */
export function ImportColumns({
  workspace,
  draft: { map, errors, assign },
  preview: { header, rows },
}: {
  readonly workspace: number;
  readonly draft: ImportDraft;
  readonly preview: ImportPreview;
}) {
  const { fields, labelOf } = useImportFields(workspace);
  const fieldOf = (name: string) => Object.keys(map).find((field) => map[field] === name);
  const mapped = errors.filter(({ field }) => field.startsWith("columnMap."));
  const reasonAt = (field: string | undefined) =>
    mapped.find((error) => error.field === `columnMap.${field}`)?.reason;
  const missing = mapped
    .map(({ field, reason }) => ({ field: field.slice("columnMap.".length), reason }))
    .filter(({ field }) => !Object.hasOwn(map, field));
  return (
    <Panel title="Columns">
      <p className="text-muted">
        Say what each column is. Columns that are not imported stay out of the leads.
      </p>
      {missing.length > 0 && (
        <div role="alert" className="text-danger">
          {missing.map(({ field, reason }) => (
            <p key={field}>
              {labelOf(field)} {reason}: choose its column.
            </p>
          ))}
        </div>
      )}
      <div className="grid gap-4 sm:grid-cols-2 xl:grid-cols-3">
        {header.map((name, at) =>
          isUsable(header, name) ? (
            <SelectField
              key={name}
              name={name}
              label={name}
              hint={samplesOf(rows, at)}
              placeholder="Not imported"
              options={fields}
              value={fieldOf(name) ?? ""}
              error={reasonAt(fieldOf(name))}
              onChange={({ target }) => assign(name, target.value)}
            />
          ) : (
            <p key={`${name} ${at}`} className="text-muted">
              <span className="block font-medium">{name || `Column ${at + 1}`}</span>
              {name === ""
                ? "It has no name in the first row, and cannot be imported."
                : "Two columns have this name: rename one to import them."}
            </p>
          ),
        )}
      </div>
    </Panel>
  );
}

function isUsable(header: readonly string[], name: string): boolean {
  return name !== "" && header.indexOf(name) === header.lastIndexOf(name);
}

/** The first values of a column, as an example of what it has. */
function samplesOf(rows: ImportPreview["rows"], at: number): string {
  const values = rows.map(({ cells }) => cells[at]?.trim() ?? "").filter((cell) => cell !== "");
  return values.length === 0
    ? "Empty in the first rows"
    : values.slice(0, 3).join(", ").slice(0, 90);
}
