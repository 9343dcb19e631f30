import { Button } from "../../../ui/button.tsx";
import { TextField } from "../../../ui/text-field.tsx";
import type { AgentField } from "./agent-draft.ts";

/** What the agent asks for, and the field of the lead that keeps it. */
export function QuestionsFields({
  fields,
  errorOf,
  onChange,
}: {
  readonly fields: readonly AgentField[];
  readonly errorOf: (field: string) => string | undefined;
  readonly onChange: (fields: AgentField[]) => void;
}) {
  const change = (at: number, changed: Partial<AgentField>) =>
    onChange(fields.map((field, i) => (i === at ? { ...field, ...changed } : field)));
  return (
    <div className="flex flex-col gap-3">
      {fields.map(({ key, question }, at) => (
        <div key={at} className="flex flex-wrap items-start gap-3">
          <TextField
            label="Lead field"
            name={`fields.${at}.key`}
            value={key}
            error={errorOf(`fields.${at}.key`)}
            onValueChange={(value) => change(at, { key: value })}
          />
          <div className="min-w-48 flex-1">
            <TextField
              label="Question"
              name={`fields.${at}.question`}
              value={question}
              error={errorOf(`fields.${at}.question`)}
              onValueChange={(value) => change(at, { question: value })}
            />
          </div>
          <Button
            kind="quiet"
            className="mt-[1.6rem]"
            aria-label={`Remove question ${at + 1}`}
            onClick={() => onChange(fields.filter((_, i) => i !== at))}
          >
            Remove
          </Button>
        </div>
      ))}
      <Button
        className="self-start"
        onClick={() => onChange([...fields, { key: "", question: "" }])}
      >
        Add a question
      </Button>
    </div>
  );
}
