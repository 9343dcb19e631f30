import type { ComponentProps } from "react";
import type { Template } from "../../../api/chat.ts";
import { MissingValues, TemplateBubble } from "../template-bubble.tsx";
import type { Preview } from "./dry-run.tsx";

/** The first messages, as the service would send them. */
export function DryRunSamples({
  template,
  samples,
}: {
  readonly template: Template;
  readonly samples: Preview["samples"];
}) {
  return (
    <section aria-label="First messages" className="flex flex-col gap-2">
      <h3 className="text-muted">First messages</h3>
      <ul className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
        {samples.map(({ phone_number, message, missing }) => (
          <li
            key={phone_number}
            className="bg-accent-soft flex min-w-0 flex-col gap-2 rounded-xl p-3"
          >
            <p className="text-muted text-xs">{phone_number}</p>
            {message === null ? (
              <MissingValues keys={missing} />
            ) : (
              <TemplateBubble
                template={template}
                message={message as ComponentProps<typeof TemplateBubble>["message"]}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
