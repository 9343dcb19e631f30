import { useState } from "react";
import type { GraphNode } from "../../../../server/voice/menus/menu-schema.ts";
import { fillText } from "../../../from-server.ts";
import { Pager } from "../../../ui/pager.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { TestCall } from "./test-call.tsx";
import type { VoiceComposer } from "./use-voice-composer.ts";

/** What any recipient hears first, with their own values, and a call to try it. */
export function CallPreview({ composer }: { readonly composer: VoiceComposer }) {
  const { draft, file, script, menu, agent } = composer;
  const contacts = draft.source === "list" ? composer.contacts : [];
  const [chosen, setChosen] = useState(0);
  const at = Math.min(chosen, Math.max(0, contacts.length - 1));
  const variables = contacts[at]?.variables ?? {};
  const first = menu?.nodes[menu.start];
  const said = script ?? agent?.greeting ?? (first ? promptOf(first) : null);
  return (
    <aside aria-label="Preview" className="flex flex-col gap-4 lg:sticky lg:top-8">
      <Panel title="What people hear">
        {!file && <p className="text-muted">Choose the content to hear it.</p>}
        {file && draft.call_type === "obd_voice_call" && (
          <audio
            controls
            preload="none"
            src={`/api/v1/voice/files/${file.id}/audio`}
            className="w-full"
          />
        )}
        {said !== null && <Said text={said} variables={variables} />}
        {first?.type === "menu" && (
          <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-1">
            {Object.entries(first.keys).map(([key, target]) => (
              <div key={key} className="contents">
                <dt className="font-mono">{key}</dt>
                <dd className="text-muted wrap-anywhere">{target}</dd>
              </div>
            ))}
          </dl>
        )}
        {said !== null && <Pager at={at} count={contacts.length} onChange={setChosen} />}
      </Panel>
      {file && <TestCall file_id={file.id} call_type={draft.call_type} variables={variables} />}
    </aside>
  );
}

/** What a node says; null for a recording. */
function promptOf(node: GraphNode): string | null {
  const prompt = "prompt" in node ? node.prompt : null;
  return prompt && "say" in prompt ? prompt.say : null;
}

function Said({
  text,
  variables,
}: {
  readonly text: string;
  readonly variables: Readonly<Record<string, string>>;
}) {
  const { text: filled, missing } = fillText(text, variables);
  return (
    <>
      <blockquote className="bg-hover rounded-xl rounded-tl-none p-3 wrap-anywhere whitespace-pre-wrap">
        {filled}
      </blockquote>
      {missing.length > 0 && (
        <p className="text-warning text-xs">
          Without a value: {missing.join(", ")}. Such a person is left out of a script.
        </p>
      )}
    </>
  );
}
