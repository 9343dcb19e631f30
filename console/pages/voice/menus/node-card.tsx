import { useId, useState } from "react";
import { fieldError } from "../../../messages/field-error.ts";
import { Badge } from "../../../ui/badge.tsx";
import { Button } from "../../../ui/button.tsx";
import { SelectField } from "../../../ui/select-field.tsx";
import { TextField } from "../../../ui/text-field.tsx";
import { KeysFields, no_target } from "./keys-fields.tsx";
import type { DraftNode } from "./menu-draft.ts";
import { node_words, type NodeField } from "./node-words.ts";
import { PromptFields } from "./prompt-fields.tsx";
import { TransferFields } from "./transfer-fields.tsx";

export type NodeCardProps = {
  readonly name: string;
  readonly node: DraftNode;
  readonly isStart: boolean;
  /** Where the caller of the trial is. */
  readonly isCurrent: boolean;
  readonly targets: readonly string[];
  /** The error of a field of this node; of the node itself without a field. */
  readonly errorOf: (field?: string) => string | undefined;
  readonly onChange: (change: Partial<DraftNode>) => void;
  /** Reports that the focus left the card. */
  readonly onLeave: () => void;
  /** Adds a step, to which `leadTo` leads this one. */
  readonly onNewStep: (leadTo: (step: string) => Partial<DraftNode>) => void;
  readonly onRename: (to: string) => void;
  readonly onStart: () => void;
  readonly onRemove: () => void;
};

const wide_kinds: ReadonlySet<NodeField["kind"]> = new Set(["prompt", "keys", "transfer"]);

const name_error =
  "Use letters, digits, _ and -, no spaces, beginning with a letter: shop_timings.";

/** One node of a menu with everything that can be set of it. */
export function NodeCard(props: NodeCardProps) {
  const { name, node, isStart, isCurrent, errorOf } = props;
  const { label, fields } = node_words[node.type];
  const heading = useId();
  const error_of_node = errorOf();
  const isMisnamed = error_of_node?.startsWith("must be named") ?? false;
  const error = isMisnamed ? undefined : error_of_node;
  return (
    <section
      id={`node-${name}`}
      tabIndex={-1}
      aria-labelledby={heading}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget)) props.onLeave();
      }}
      className={`bg-panel flex scroll-mt-4 flex-col gap-4 rounded-xl border p-4 outline-none ${isCurrent ? "border-accent ring-accent ring-2" : error === undefined ? "border-line" : "border-danger"}`}
    >
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h3
          id={heading}
          className="flex min-w-0 flex-wrap items-center gap-2 font-medium wrap-anywhere"
        >
          {name} <span className="text-muted font-normal">{label}</span>
          {isStart && <Badge tone="good">Begins here</Badge>}
          {isCurrent && <Badge tone="busy">The caller is here</Badge>}
        </h3>
        <div className="flex flex-wrap gap-1">
          {!isStart && (
            <Button kind="quiet" aria-label={`Begin here: ${name}`} onClick={props.onStart}>
              Begin here
            </Button>
          )}
          <Button kind="quiet" aria-label={`Remove ${name}`} onClick={props.onRemove}>
            Remove
          </Button>
        </div>
      </div>
      {error !== undefined && (
        <p role="alert" className="text-danger text-xs">
          {fieldError("This step", error)}
        </p>
      )}
      <div className="grid items-start gap-x-4 gap-y-3 sm:grid-cols-2">
        <NameField
          key={name}
          name={name}
          names={props.targets}
          error={isMisnamed ? name_error : undefined}
          onRename={props.onRename}
        />
        {fields.map((field) => (
          <div
            key={"name" in field ? field.name : field.kind}
            className={`min-w-0 ${wide_kinds.has(field.kind) ? "sm:col-span-2" : ""}`}
          >
            <FieldOf field={field} {...props} />
          </div>
        ))}
      </div>
    </section>
  );
}

/** The name of a node; one that is empty or taken stays in the field with its error, and the node keeps its own. */
function NameField({
  name,
  names,
  error,
  onRename,
}: Pick<NodeCardProps, "name" | "onRename"> & {
  /** Of all nodes. */
  readonly names: readonly string[];
  readonly error: string | undefined;
}) {
  const [refusal, setRefusal] = useState<string>();
  return (
    <TextField
      label="Name of this step"
      name="node_name"
      defaultValue={name}
      error={refusal ?? error}
      onBlur={({ target }) => {
        const to = target.value.trim();
        const refused = refusalOf(to, name, names);
        setRefusal(refused);
        if (refused === undefined && to !== name) onRename(to);
      }}
    />
  );
}

function refusalOf(to: string, name: string, names: readonly string[]): string | undefined {
  if (to === "") return `Enter a name. The step is still named ${name}.`;
  if (to !== name && names.includes(to))
    return `Another step is named ${to}. This one is still named ${name}.`;
  return undefined;
}

function FieldOf(props: NodeCardProps & { readonly field: NodeField }) {
  const { field, node, targets, errorOf, onChange, onNewStep } = props;
  switch (field.kind) {
    case "prompt":
      return (
        <PromptFields
          label={field.label}
          name={field.name}
          prompt={node[field.name]}
          errorOf={errorOf}
          onChange={(prompt) => onChange({ [field.name]: prompt })}
        />
      );
    case "target":
      return (
        <SelectField
          label={field.label}
          name={field.name}
          placeholder="Choose the next step"
          options={targets.map((target) => ({ value: target, label: target }))}
          value={node[field.name] ?? ""}
          error={errorOf(field.name) && (node[field.name] ? errorOf(field.name) : no_target)}
          onChange={({ target: { value } }) => onChange({ [field.name]: value || null })}
        />
      );
    case "number":
      return (
        <TextField
          label={field.label}
          name={field.name}
          type="number"
          placeholder={field.placeholder}
          value={node[field.name] ?? ""}
          error={errorOf(field.name)}
          onValueChange={(value) => onChange({ [field.name]: value === "" ? null : Number(value) })}
        />
      );
    case "text":
      return (
        <TextField
          label={field.label}
          name={field.name}
          value={node[field.name] ?? ""}
          error={errorOf(field.name)}
          hint={field.note}
          onValueChange={(value) => onChange({ [field.name]: value || null })}
        />
      );
    case "keys":
      return (
        <KeysFields
          keys={node.keys ?? {}}
          targets={targets}
          errorOf={errorOf}
          onChange={(keys) => onChange({ keys: { ...keys } })}
          onNewStep={(key) => onNewStep((step) => ({ keys: { ...node.keys, [key]: step } }))}
        />
      );
    case "transfer":
      return (
        <TransferFields
          name="to"
          to={node.to}
          errorOf={errorOf}
          onChange={(to) => onChange({ to })}
        />
      );
  }
}
