import { useState, type ReactNode } from "react";
import type { Reason } from "../../messages/reason.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";

export const failure_link_class = "text-accent font-medium underline-offset-2 hover:underline";

/** Why some people were not reached, and what helps. */
export function FailureItem({
  link,
  count,
  words: { text, advice },
  children,
}: {
  /** The reason, which leads to the people. */
  readonly link: ReactNode;
  /** How many, such as 10,000+. */
  readonly count: string;
  readonly words: Reason;
  /** What can be done. */
  readonly children: ReactNode;
}) {
  return (
    <li className="flex flex-col gap-1 py-3">
      <div className="flex items-start justify-between gap-3">
        {link}
        <span className="tabular-nums">{count}</span>
      </div>
      <p className="text-muted">
        {text} {advice}
      </p>
      {children && <div className="mt-1">{children}</div>}
    </li>
  );
}

/** Tries some people again. */
export function RetryButton({
  title,
  text,
  retry,
}: {
  readonly title: string;
  readonly text: string;
  /** A repetition with the same key has no second effect. */
  readonly retry: (key: string) => Promise<void>;
}) {
  // One key until it has succeeded, so that a lost answer does not retry twice.
  const [key, setKey] = useState(() => crypto.randomUUID());
  return (
    <ConfirmDialog
      title={title}
      text={text}
      action="Retry"
      kind="primary"
      trigger={<Button>Retry</Button>}
      act={async () => {
        await retry(key);
        setKey(crypto.randomUUID());
      }}
    />
  );
}
