import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { groupsQuery } from "../../api/groups.ts";
import { fieldError } from "../../messages/field-error.ts";
import { useMay } from "../../ui/permission.ts";
import { Button } from "../../ui/button.tsx";
import { FileButton } from "../../ui/file-button.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { TextAreaField } from "../../ui/text-area-field.tsx";
import type { AudienceComposer } from "./use-audience.ts";

const shell = getRouteApi("/shell");

type Props = {
  readonly composer: AudienceComposer;
  /** How the numbers are written. */
  readonly written: string;
  /** Follows the numbers. */
  readonly children?: ReactNode;
};

type ComposerOnly = Pick<Props, "composer">;

/** Who is reached: a pasted list, a file, or a saved group. */
export function AudienceFields({ composer, written, children }: Props) {
  const { draft, change } = composer;
  const mayUseGroups = useMay("groups.read", "groups.manage");
  const sources = [
    ["list", "List or file"],
    ["group", "Saved group"],
  ] as const;
  return (
    <Panel title="Recipients">
      {mayUseGroups && (
        <fieldset className="flex flex-wrap gap-x-5 gap-y-2">
          <legend className="sr-only">Where they come from</legend>
          {sources.map(([source, label]) => (
            <label key={source} className="flex items-center gap-2">
              <input
                type="radio"
                name="source"
                checked={draft.source === source}
                onChange={() => change({ source })}
              />
              {label}
            </label>
          ))}
        </fieldset>
      )}
      {draft.source === "group" ? (
        <GroupField composer={composer} />
      ) : (
        <ListFields composer={composer} written={written} />
      )}
      {children}
    </Panel>
  );
}

function GroupField({ composer: { draft, errors, change } }: ComposerOnly) {
  const { data: groups } = useQuery(groupsQuery);
  return (
    <SelectField
      label="Group"
      name="group_id"
      placeholder="Choose a group"
      options={(groups ?? []).map(({ id, name, members_count }) => ({
        value: id,
        label: `${name} (${formatCount(members_count)})`,
      }))}
      value={draft.group_id}
      error={errors.find(({ field }) => field === "group_id")?.reason}
      hint="Each member's own variables are used."
      onChange={({ target }) => change({ group_id: target.value })}
    />
  );
}

function ListFields({ composer, written }: Props) {
  const { draft, large, audience, national_count, change, choose } = composer;
  const { rows, columns, has_heading, phone_column } = audience;
  const { country_code } = shell.useRouteContext().me.account;
  const nationalNote = `${formatCount(national_count)} without a country code: read as +${country_code}.`;
  if (large) return <FileFields composer={composer} file={large.file} />;
  return (
    <>
      <TextAreaField
        label="Numbers"
        name="contacts"
        rows={7}
        placeholder={"phone,name\n919876543210,Ada"}
        value={draft.list}
        error={errorOfContacts(composer)}
        hint={
          rows.length === 0
            ? `One a line. ${written} Further columns can fill variables.`
            : `${formatCount(rows.length)} ${rows.length === 1 ? "line" : "lines"}${has_heading ? " under a heading" : ""}, with the number in “${columns[phone_column]}”.${national_count > 0 ? ` ${nationalNote}` : ""}`
        }
        onChange={({ target }) => change({ list: target.value })}
        className="font-mono"
      />
      <FileButton
        label="Or read a CSV file"
        accept=".csv,.txt,text/csv,text/plain"
        onChoose={(file) => void choose(file)}
      />
      <ColumnFields composer={composer} />
    </>
  );
}

/** A file that is too large to be shown: the server reads it. */
function FileFields({ composer, file }: ComposerOnly & { readonly file: File }) {
  const { dryRun, uploaded, choose } = composer;
  const error = errorOfContacts(composer);
  return (
    <>
      <div className="border-line flex flex-wrap items-center justify-between gap-3 rounded-lg border p-3">
        <div className="min-w-0">
          <p className="font-medium wrap-anywhere">{file.name}</p>
          <p className="text-muted">
            {formatCount(Math.ceil(file.size / 1_000))} kB. The dry run counts its lines.
          </p>
          {error && (
            <p role="alert" className="text-danger">
              {fieldError("The file", error)}
            </p>
          )}
        </div>
        <Button onClick={() => void choose(null)}>Remove</Button>
      </div>
      {dryRun.isPending && <ProgressBar label="Upload of the file" percent={uploaded} />}
      <ColumnFields composer={composer} />
    </>
  );
}

const fields_of_contacts: ReadonlySet<string> = new Set([
  "contacts",
  "file",
  "phone_column",
  "variables",
]);

/** Names the line of an invalid recipient by its number. */
function errorOfContacts({ errors, contacts }: AudienceComposer): string | undefined {
  const wrong = errors.find(({ field }) => fields_of_contacts.has(field.split(".")[0]!));
  if (!wrong) return undefined;
  const [, index] = /^contacts\.(\d+)/.exec(wrong.field) ?? [];
  if (index === undefined) return wrong.reason;
  const number = contacts[Number(index)]?.phone_number ?? "";
  return `Recipient ${Number(index) + 1} (${number}) ${wrong.reason}.`;
}

/** Which column has the numbers, and which fills which variable of the template. */
function ColumnFields({ composer: { draft, keys, audience, mapping, change } }: ComposerOnly) {
  if (audience.columns.length < 2) return null;
  const options = audience.columns.map((label, value) => ({ value, label }));
  return (
    <fieldset className="grid gap-4 sm:grid-cols-2">
      <legend className="sr-only">Columns</legend>
      <SelectField
        label="Phone column"
        name="phone_column"
        options={options}
        value={audience.phone_column}
        onChange={({ target }) => change({ phone_column: target.value, mapping: {} })}
      />
      {keys.map((key) => (
        <SelectField
          key={key}
          label={`Variable {{${key}}}`}
          name={`mapping.${key}`}
          placeholder="The default"
          options={options}
          value={mapping[key] ?? ""}
          onChange={({ target }) => change({ mapping: { ...draft.mapping, [key]: target.value } })}
        />
      ))}
    </fieldset>
  );
}
