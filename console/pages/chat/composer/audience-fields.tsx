import { useQuery } from "@tanstack/react-query";
import { groupsQuery } from "../../../api/groups.ts";
import { useMay } from "../../../ui/permission.ts";
import { formatCount } from "../../../ui/numbers.ts";
import { Panel } from "../../../ui/panel.tsx";
import { SelectField } from "../../../ui/select-field.tsx";
import { TextAreaField } from "../../../ui/text-area-field.tsx";
import type { Composer } from "./use-composer.ts";

type Props = { readonly composer: Composer };

/** Who gets the message: a pasted list, a file, or a saved group. */
export function AudienceFields({ composer }: Props) {
  const { draft, change } = composer;
  const mayUseGroups = useMay("groups.read");
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
                className="accent-accent"
              />
              {label}
            </label>
          ))}
        </fieldset>
      )}
      {draft.source === "group" ? (
        <GroupField composer={composer} />
      ) : (
        <ListFields composer={composer} />
      )}
    </Panel>
  );
}

function GroupField({ composer: { draft, errors, change } }: Props) {
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
      hint="Each member's own variables fill the message."
      onChange={({ target }) => change({ group_id: target.value })}
    />
  );
}

function ListFields({ composer }: Props) {
  const { draft, audience, change } = composer;
  const { rows, columns, phone_column } = audience;
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
            ? "One a line, with country code. Further columns can fill the message's variables."
            : `${formatCount(rows.length)} ${rows.length === 1 ? "line" : "lines"}, with the number in “${columns[phone_column]}”.`
        }
        onChange={({ target }) => change({ list: target.value })}
        className="font-mono"
      />
      <label className="text-muted flex flex-wrap items-center gap-3">
        Or read a CSV file
        <input
          type="file"
          accept=".csv,.txt,text/csv,text/plain"
          onChange={({ target }) => {
            void target.files?.[0]?.text().then((list) => change({ list, mapping: {} }));
          }}
          className="file:border-line file:bg-panel file:text-ink hover:file:bg-hover max-w-full file:mr-3 file:h-9 file:rounded-lg file:border file:px-3.5 file:font-medium"
        />
      </label>
      <VariableFields composer={composer} />
    </>
  );
}

/** Names the line of an invalid recipient by its number. */
function errorOfContacts({ errors, contacts }: Composer): string | undefined {
  const wrong = errors.find(({ field }) => field.split(".")[0] === "contacts");
  if (!wrong) return undefined;
  const [, index] = /^contacts\.(\d+)/.exec(wrong.field) ?? [];
  if (index === undefined) return wrong.reason;
  const number = contacts[Number(index)]?.phone_number ?? "";
  return `Recipient ${Number(index) + 1} (${number}) ${wrong.reason}`;
}

/** Which column fills which variable of the template. */
function VariableFields({
  composer: { draft, keys, audience, mapping, change },
}: {
  readonly composer: Composer;
}) {
  if (keys.length === 0 || audience.columns.length < 2) return null;
  const options = audience.columns.map((label, value) => ({ value, label }));
  return (
    <fieldset className="grid gap-4 sm:grid-cols-2">
      <legend className="sr-only">Variables</legend>
      {keys.map((key) => (
        <SelectField
          key={key}
          label={`Variable {{${key}}}`}
          name={`mapping.${key}`}
          placeholder="The template's default"
          options={options}
          value={mapping[key] ?? ""}
          onChange={({ target }) => change({ mapping: { ...draft.mapping, [key]: target.value } })}
        />
      ))}
    </fieldset>
  );
}
