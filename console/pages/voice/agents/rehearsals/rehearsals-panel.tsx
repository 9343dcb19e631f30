import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import type { Answer } from "../../../../api/answer.ts";
import { api, body } from "../../../../api/client.ts";
import { ApiProblem } from "../../../../api/problem.ts";
import { Badge } from "../../../../ui/badge.tsx";
import { Button } from "../../../../ui/button.tsx";
import { Panel } from "../../../../ui/panel.tsx";
import { TextAreaField } from "../../../../ui/text-area-field.tsx";
import { TextField } from "../../../../ui/text-field.tsx";
import { bodyOfAgent, type AgentDraft } from "../agent-draft.ts";
import { Transcript } from "../talk/transcript.tsx";
import { linesOfSteps, stepsOfLines, withRehearsal, type Rehearsal } from "./rehearsal-steps.ts";

type Result = Answer<"previewAiAgentRehearsals">["data"][number];

type Props = {
  readonly draft: AgentDraft;
  readonly errorOf: (field: string) => string | undefined;
  readonly onChange: (rehearsals: Rehearsal[]) => void;
};

/** Conversations of a scripted agent that are held again after each change of the page. */
export function RehearsalsPanel({ draft, errorOf, onChange }: Props) {
  const rehearsals = draft.rehearsals ?? [];
  const { results, error } = useResults(draft);
  const violations = error instanceof ApiProblem ? error.errors : [];
  const change = (at: number, changed: Partial<Rehearsal>) =>
    onChange(rehearsals.map((one, i) => (i === at ? { ...one, ...changed } : one)));
  return (
    <Panel title="Rehearsals">
      <p className="text-muted">
        Conversations that it has to hold as you expect. They run again with each change on this
        page, before it is saved. No one is called.
      </p>
      {error !== null && rehearsals.length > 0 && <p role="status">They wait: {reasonOf(error)}</p>}
      {rehearsals.map((rehearsal, at) => (
        <RehearsalFields
          key={at}
          at={at}
          rehearsal={rehearsal}
          result={results?.[at] ?? null}
          errorOf={(field) => {
            const path = `rehearsals.${at}.${field}`;
            return errorOf(path) ?? violations.find((one) => one.field.startsWith(path))?.reason;
          }}
          onChange={(changed) => change(at, changed)}
          onRemove={() => onChange(rehearsals.filter((_, i) => i !== at))}
        />
      ))}
      <Button className="self-start" onClick={() => onChange(withRehearsal(draft, { steps: [] }))}>
        Add a rehearsal
      </Button>
    </Panel>
  );
}

/** Returns the results of the draft's rehearsals; null until the first run ends. */
function useResults(agent: AgentDraft) {
  const { name: _name, ...draft } = bodyOfAgent(agent);
  // Typing stays fast, and only what was typed last is sent.
  const sent = useDeferredValue(draft);
  const { data, error } = useQuery({
    queryKey: ["rehearsals", sent],
    queryFn: ({ signal }) =>
      body(api.POST("/api/v1/voice/agents/rehearse", { body: sent, signal })),
    enabled: (sent.rehearsals ?? []).length > 0,
    placeholderData: keepPreviousData,
    retry: false,
    gcTime: 0,
  });
  return { results: error ? null : (data?.data ?? null), error };
}

function reasonOf(error: Error): string {
  const violations = error instanceof ApiProblem ? error.errors : [];
  if (violations.length === 0) return error.message;
  const other = violations.find(({ field }) => !field.startsWith("rehearsals."));
  // Those of rehearsals are shown at their fields.
  return other ? `${other.field} ${other.reason}.` : "correct the marked fields.";
}

function RehearsalFields({
  at,
  rehearsal: { name, steps, expect },
  result,
  errorOf,
  onChange,
  onRemove,
}: {
  readonly at: number;
  readonly rehearsal: Rehearsal;
  readonly result: Result | null;
  readonly errorOf: (field: string) => string | undefined;
  readonly onChange: (changed: Partial<Rehearsal>) => void;
  readonly onRemove: () => void;
}) {
  return (
    <fieldset className="border-line grid items-start gap-3 rounded-lg border p-3 md:grid-cols-2">
      <legend className="px-1 font-medium">Rehearsal {at + 1}</legend>
      <div className="flex flex-col gap-3">
        <TextField
          label="What it shows"
          name={`rehearsals.${at}.name`}
          value={name}
          error={errorOf("name")}
          onValueChange={(changed) => onChange({ name: changed })}
        />
        <TextAreaField
          label="What the caller does"
          name={`rehearsals.${at}.steps`}
          rows={4}
          value={linesOfSteps(steps)}
          error={errorOf("steps")}
          hint="A line for each step: press 411#, wait 5, or the words that the caller says."
          onChange={({ target }) => onChange({ steps: stepsOfLines(target.value) })}
        />
        <Button className="self-start" onClick={onRemove}>
          Remove
        </Button>
      </div>
      {result && (
        <div className="flex flex-col gap-3">
          <Verdict result={result} />
          <Differences expected={expect ?? {}} result={result} />
          <Transcript said={result.transcript} caller="Caller" label={`Rehearsal ${at + 1}`} />
          <p className="text-muted">{endOf(result.actual)}</p>
          {result.passed !== true && (
            <Button className="self-start" onClick={() => onChange({ expect: result.actual })}>
              Expect this
            </Button>
          )}
        </div>
      )}
    </fieldset>
  );
}

function Verdict({ result: { passed } }: { readonly result: Result }) {
  return (
    <p role="status">
      {passed === null ? (
        <Badge tone="neutral">Nothing is expected yet</Badge>
      ) : (
        <Badge tone={passed ? "good" : "bad"}>{passed ? "As expected" : "Changed"}</Badge>
      )}
    </p>
  );
}

const labels = {
  outcome: "How it ends",
  says: "What it says",
  fields: "Answers",
  opted_out: "Opt-out",
} as const;

function Differences({
  expected,
  result: { differences, actual },
}: {
  readonly expected: NonNullable<Rehearsal["expect"]>;
  readonly result: Result;
}) {
  if (differences.length === 0) return null;
  return (
    <dl className="flex flex-col gap-2">
      {differences.map((fact) => (
        <div key={fact}>
          <dt className="text-muted">{labels[fact]}, expected and now</dt>
          <dd className="wrap-anywhere line-through">{wordsOf(fact, expected)}</dd>
          <dd className="wrap-anywhere">{wordsOf(fact, actual)}</dd>
        </div>
      ))}
    </dl>
  );
}

function wordsOf(
  fact: keyof typeof labels,
  facts: Partial<Result["actual"]> | Rehearsal["expect"],
) {
  switch (fact) {
    case "outcome":
      return outcomes[facts?.outcome ?? "listening"];
    case "says":
      return (facts?.says ?? []).join(" · ") || "Nothing";
    case "fields":
      return (
        Object.entries(facts?.fields ?? {})
          .map(([key, value]) => `${key}: ${value}`)
          .join(" · ") || "None"
      );
    case "opted_out":
      return facts?.opted_out ? "The number is suppressed." : "The number is not suppressed.";
  }
}

const outcomes: Readonly<Record<Result["actual"]["outcome"], string>> = {
  listening: "The call goes on.",
  ended: "It ends the call.",
  transferred: "It transfers the caller to a person.",
  silence: "It ends after the silence that its limits allow.",
  too_long: "It ends after the longest conversation that its limits allow.",
  failed: "It fails.",
};

function endOf({ outcome, fields, opted_out }: Result["actual"]): string {
  const kept = Object.entries(fields).map(([key, value]) => `${key}: ${value}.`);
  return [outcomes[outcome], ...kept, opted_out ? "The number is suppressed." : ""]
    .filter((part) => part !== "")
    .join(" ");
}
