import { Button } from "../../../ui/button.tsx";
import { SelectField } from "../../../ui/select-field.tsx";
import { TextAreaField } from "../../../ui/text-area-field.tsx";
import { TextField } from "../../../ui/text-field.tsx";
import type { AgentRule } from "./agent-draft.ts";

const outcomes = [
  { value: "go_on", label: "The conversation goes on" },
  { value: "transfer", label: "Transfer to an agent" },
  { value: "opt_out", label: "Opt out, and hang up" },
  { value: "end", label: "Hang up" },
];

type Props = {
  readonly rules: readonly AgentRule[];
  readonly errorOf: (field: string) => string | undefined;
  readonly onChange: (rules: AgentRule[]) => void;
};

/** What a scripted agent answers to keys and words: the first rule that fits. */
export function RulesFields({ rules, errorOf, onChange }: Props) {
  return (
    <div className="flex flex-col gap-4">
      {rules.map((rule, at) => (
        <RuleFields
          key={at}
          at={at}
          rule={rule}
          errorOf={(field) => errorOf(`rules.${at}.${field}`)}
          onChange={(changed) =>
            onChange(rules.map((one, i) => (i === at ? { ...one, ...changed } : one)))
          }
          onRemove={() => onChange(rules.filter((_, i) => i !== at))}
        />
      ))}
      <Button
        className="self-start"
        onClick={() => onChange([...rules, { keys: "", keywords: [], say: "" }])}
      >
        Add an answer
      </Button>
    </div>
  );
}

function RuleFields({
  at,
  rule,
  errorOf,
  onChange,
  onRemove,
}: {
  readonly at: number;
  readonly rule: AgentRule;
  readonly errorOf: (field: string) => string | undefined;
  readonly onChange: (changed: Partial<AgentRule>) => void;
  readonly onRemove: () => void;
}) {
  return (
    <fieldset className="border-line grid items-start gap-3 rounded-lg border p-3 sm:grid-cols-2">
      <legend className="px-1 font-medium">Answer {at + 1}</legend>
      <TextField
        label="Keys"
        name={`rules.${at}.keys`}
        value={rule.keys ?? ""}
        error={errorOf("keys")}
        hint="Any of them, such as 1."
        onValueChange={(keys) => onChange({ keys })}
      />
      <TextField
        label="Words"
        name={`rules.${at}.keywords`}
        value={(rule.keywords ?? []).join(", ")}
        error={errorOf("keywords") ?? errorOf("keywords.0")}
        hint="Separated by commas; they need speech recognition."
        onValueChange={(text) =>
          onChange({ keywords: text.split(",").map((word) => word.trimStart()) })
        }
      />
      <div className="sm:col-span-2">
        <TextAreaField
          label="Says"
          name={`rules.${at}.say`}
          rows={2}
          value={rule.say}
          error={errorOf("say")}
          onChange={({ target }) => onChange({ say: target.value })}
        />
      </div>
      <SelectField
        label="Then"
        name={`rules.${at}.then`}
        options={outcomes}
        value={rule.then ?? "go_on"}
        error={errorOf("then")}
        onChange={({ target }) =>
          // oxlint-disable-next-line unicorn/no-thenable -- A field of the API.
          onChange({ then: target.value as NonNullable<AgentRule["then"]> })
        }
      />
      <Button
        kind="quiet"
        className="self-end justify-self-end"
        aria-label={`Remove answer ${at + 1}`}
        onClick={onRemove}
      >
        Remove
      </Button>
    </fieldset>
  );
}
