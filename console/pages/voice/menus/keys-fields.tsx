import { fieldError } from "../../../messages/field-error.ts";
import { Button } from "../../../ui/button.tsx";
import { SelectField } from "../../../ui/select-field.tsx";
import { key_options } from "../content/file-words.ts";

type Keys = Readonly<Record<string, string>>;

/** Where each key leads. */
export function KeysFields({
  keys,
  targets,
  errorOf,
  onChange,
}: {
  readonly keys: Keys;
  readonly targets: readonly string[];
  /** The error of a field of the node. */
  readonly errorOf: (field: string) => string | undefined;
  readonly onChange: (keys: Keys) => void;
}) {
  const free = key_options.find(({ value }) => !Object.hasOwn(keys, value));
  const rename = (from: string, to: string) =>
    onChange(
      Object.fromEntries(
        Object.entries(keys).map(([key, target]) => [key === from ? to : key, target]),
      ),
    );
  const remove = (key: string) =>
    onChange(Object.fromEntries(Object.entries(keys).filter(([one]) => one !== key)));
  const error = errorOf("keys");
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1.5 font-medium">Keys</legend>
      {Object.entries(keys).map(([key, target]) => (
        <div key={key} className="flex flex-wrap items-end gap-2">
          <SelectField
            label="Key"
            name={`key-${key}`}
            options={key_options.filter(
              ({ value }) => value === key || !Object.hasOwn(keys, value),
            )}
            value={key}
            onChange={({ target: { value } }) => rename(key, value)}
          />
          <div className="min-w-0 flex-1">
            <SelectField
              label={`Key ${key} leads to`}
              name={`keys.${key}`}
              placeholder="Choose"
              options={targets.map((name) => ({ value: name, label: name }))}
              value={target}
              error={errorOf(`keys.${key}`)}
              onChange={({ target: { value } }) => onChange({ ...keys, [key]: value })}
            />
          </div>
          <Button kind="quiet" aria-label={`Remove key ${key}`} onClick={() => remove(key)}>
            Remove
          </Button>
        </div>
      ))}
      {error !== undefined && (
        <p role="alert" className="text-danger text-xs">
          {fieldError("The list of keys", error)}
        </p>
      )}
      {free && (
        <Button className="self-start" onClick={() => onChange({ ...keys, [free.value]: "" })}>
          Add a key
        </Button>
      )}
    </fieldset>
  );
}
