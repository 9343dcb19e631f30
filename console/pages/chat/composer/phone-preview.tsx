import { useState } from "react";
import type { Template } from "../../../api/chat.ts";
import { Pager } from "../../../ui/pager.tsx";
import { Phone } from "../../../ui/phone.tsx";
import { RenderedBubble } from "../template-bubble.tsx";
import type { Contact } from "../../campaigns/read-audience.ts";

/** The message as any recipient sees it. Without recipients, the template's own defaults fill it. */
export function PhonePreview({
  template,
  contacts,
}: {
  readonly template: Template | undefined;
  readonly contacts: readonly Contact[];
}) {
  const [chosen, setChosen] = useState(0);
  const at = Math.min(chosen, Math.max(0, contacts.length - 1));
  const contact = contacts[at];
  return (
    <aside aria-label="Preview" className="flex flex-col gap-3 lg:sticky lg:top-8">
      <Phone title={contact?.phone_number || "WhatsApp"}>
        {template ? (
          <RenderedBubble template={template} variables={contact?.variables ?? null} />
        ) : (
          <p className="text-muted m-auto text-center">Choose a template to see the message.</p>
        )}
      </Phone>
      <Pager at={at} count={contacts.length} onChange={setChosen} />
    </aside>
  );
}
