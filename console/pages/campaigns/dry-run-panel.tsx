import { Link } from "@tanstack/react-router";
import { useEffect, useRef, type ReactNode } from "react";
import { ApiProblem } from "../../api/problem.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { Time } from "../../ui/time.tsx";

/** Recipients that are left out for one reason. */
export type LeftOut = {
  readonly reason: string;
  readonly count: number;
  readonly examples?: readonly string[];
};

type Props = {
  /** How many people are reached. */
  readonly reached: number;
  readonly left_out: readonly LeftOut[];
  readonly credits: { readonly needed: number; readonly available: number };
  /** What the cost covers, or why the credit does not suffice. */
  readonly about_credits?: ReactNode;
  /** Null if it never may. */
  readonly starts_at: string | null;
  readonly finishes_at: string | null;
  /** What else it found. */
  readonly children?: ReactNode;
  /** The list of campaigns; null if the user may not see it. */
  readonly list: "/chat/campaigns" | "/voice/campaigns" | null;
  /** The words of the button that does it. */
  readonly action: string;
  /** Danger: a better choice stands above. */
  readonly action_kind?: "primary" | "danger";
  readonly blocked: boolean;
  readonly send: {
    readonly error: Error | null;
    readonly isPending: boolean;
    readonly isSuccess: boolean;
    readonly mutate: () => void;
    readonly mutateAsync: () => Promise<unknown>;
  };
  readonly onChange: () => void;
};

/** What a campaign would do, and the button that does it. */
export function DryRunPanel({ send, ...props }: Props) {
  const { reached, left_out, credits, starts_at, finishes_at } = props;
  const listed = left_out.reduce((sum, { count }) => sum + count, reached);
  const result = useRef<HTMLDivElement>(null);
  useEffect(() => result.current?.focus(), []);
  return (
    <div ref={result} tabIndex={-1} className="outline-none">
      <Panel title="Dry run">
        <dl className="grid gap-x-6 gap-y-3 sm:grid-cols-[auto_1fr] max-sm:[&>dd]:-mt-2.5">
          <dt className="text-muted">On the list</dt>
          <dd className="tabular-nums">{formatCount(listed)}</dd>
          <dt className="text-muted">Left out</dt>
          <dd>
            <LeftOutList left_out={left_out} />
          </dd>
          <dt className="text-muted">Will be reached</dt>
          <dd className="text-lg font-semibold tabular-nums">{formatCount(reached)}</dd>
          <dt className="text-muted">Cost</dt>
          <dd>
            {formatCount(credits.needed)} of {formatCount(credits.available)} credits
            {props.about_credits}
          </dd>
          <dt className="text-muted">Begins</dt>
          <dd>{starts_at === null ? "Never, at these hours" : <Time at={starts_at} />}</dd>
          <dt className="text-muted">Done by</dt>
          <dd>
            {finishes_at === null ? (
              "Not everyone can be reached at these hours"
            ) : (
              <>
                <Time at={finishes_at} />, if nothing holds it up
              </>
            )}
          </dd>
        </dl>
        {props.children}
        <SendError error={send.error} list={props.list} />
        <FormActions submit={() => send.mutateAsync()} align="start">
          <Button
            kind={props.action_kind ?? "primary"}
            busy={send.isPending || send.isSuccess}
            disabled={props.blocked}
            onClick={() => send.mutate()}
          >
            {props.action}
          </Button>
          <Button onClick={props.onChange}>Change</Button>
        </FormActions>
      </Panel>
    </div>
  );
}

function LeftOutList({ left_out }: { readonly left_out: readonly LeftOut[] }) {
  const some = left_out.filter(({ count }) => count > 0);
  if (some.length === 0) return "Nobody";
  return some.map(({ reason, count, examples = [] }) => (
    <p key={reason}>
      {reason}: {formatCount(count)}
      <span className="text-muted block text-xs wrap-anywhere">
        {examples.slice(0, 5).join(", ")}
      </span>
    </p>
  ));
}

/** A changed draft whose first sending was not answered may have been sent. */
function SendError({ error, list }: { readonly error: Error | null } & Pick<Props, "list">) {
  const isReused =
    error instanceof ApiProblem && error.errors.some(({ field }) => field === "Idempotency-Key");
  if (!isReused) return <FormError error={error} />;
  return (
    <p role="alert" className="text-danger">
      An earlier version of this draft was already sent.{" "}
      {list === null ? (
        "Discard the draft to begin another one."
      ) : (
        <>
          Look at the{" "}
          <Link to={list} className="underline">
            campaigns
          </Link>
          , then discard the draft to begin another one.
        </>
      )}
    </p>
  );
}
