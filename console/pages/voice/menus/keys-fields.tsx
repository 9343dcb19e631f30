import { useRef } from "react";
import { fieldError } from "../../../messages/field-error.ts";
import { Button } from "../../../ui/button.tsx";
import { SelectField } from "../../../ui/select-field.tsx";
import { key_options } from "../content/file-words.ts";

/** What is wrong with a way that leads nowhere. */
export const no_target = "Choose the next step.";

/** A choice beside the steps; no step has this name. */
const new_step = "+";

type Keys = Readonly<Record<string, string>>;

/** Where each key leads. */
export function KeysFields({
  keys,
  targets,
  errorOf,
  onChange,
  onNewStep,
}: {
  readonly keys: Keys;
  readonly targets: readonly string[];
  /** The error of a field of the node. */
  readonly errorOf: (field: string) => string | undefined;
  readonly onChange: (keys: Keys) => void;
  /** Adds a step, to which the key leads. */
  readonly onNewStep: (key: string) => void;
}) {
  const list = useRef<HTMLFieldSetElement>(null);
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
    <fieldset ref={list} className="flex flex-col gap-2">
      <legend className="mb-1.5 font-medium">Keys</legend>
      {Object.entries(keys).map(([key, target]) => (
        <KeyFields
          key={key}
          keys={keys}
          at={key}
          target={target}
          targets={targets}
          error={errorOf(`keys.${key}`)}
          onRename={(to) => rename(key, to)}
          onTarget={(to) => (to === new_step ? onNewStep(key) : onChange({ ...keys, [key]: to }))}
          onRemove={() => remove(key)}
        />
      ))}
      {error !== undefined && (
        <p role="alert" className="text-danger text-xs">
          {fieldError("The list of keys", error)}
        </p>
      )}
      {free && (
        <Button
          className="self-start"
          onClick={() => {
            onChange({ ...keys, [free.value]: "" });
            // The keys have their own order: the new one may be between others.
            requestAnimationFrame(() => focusTarget(list.current, free.value));
          }}
        >
          Add a key
        </Button>
      )}
    </fieldset>
  );
}

/** One key and where it leads. */
function KeyFields({
  keys,
  at,
  target,
  targets,
  error,
  onRename,
  onTarget,
  onRemove,
}: {
  readonly keys: Keys;
  readonly at: string;
  readonly target: string;
  readonly targets: readonly string[];
  readonly error: string | undefined;
  readonly onRename: (to: string) => void;
  readonly onTarget: (to: string) => void;
  readonly onRemove: () => void;
}) {
  return (
    <div className="flex flex-wrap items-start gap-2">
      <SelectField
        label="Key"
        name={`key-${at}`}
        options={key_options.filter(({ value }) => value === at || !Object.hasOwn(keys, value))}
        value={at}
        onChange={({ target: { value } }) => onRename(value)}
      />
      <div className="min-w-0 flex-1">
        <SelectField
          label={`Key ${at} leads to`}
          name={`keys.${at}`}
          placeholder="Choose"
          options={[
            ...targets.map((name) => ({ value: name, label: name })),
            { value: new_step, label: "New step" },
          ]}
          value={target}
          error={error && target === "" ? no_target : error}
          onChange={({ target: { value } }) => onTarget(value)}
        />
      </div>
      <Button
        kind="quiet"
        // Beside the fields, below their labels.
        className="mt-6.5"
        aria-label={`Remove key ${at}`}
        onClick={onRemove}
      >
        Remove
      </Button>
    </div>
  );
}

function focusTarget(list: HTMLElement | null, key: string): void {
  list?.querySelector<HTMLElement>(`[name="keys.${key}"]`)?.focus();
}
