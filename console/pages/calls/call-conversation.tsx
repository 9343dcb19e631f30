import type { CallDetail } from "../../api/call-records.ts";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";

/** What was recorded, said, pressed and entered. */
export function CallConversation({ call }: { readonly call: CallDetail }) {
  const { recording_url, messages, transcript, menu_path, dtmf, collected } = call;
  const entries = Object.entries(collected);
  return (
    <>
      {recording_url !== null && (
        <Panel title="Recording">
          <audio
            controls
            preload="none"
            aria-label="Recording of the call"
            src={`/api/v1/calls/${call.call_id}/recording`}
            className="w-full"
          />
        </Panel>
      )}
      {messages.length > 0 && (
        <Panel title="Messages">
          {messages.map(({ node, recording_url: url, state }, at) => (
            <div key={at} className="flex flex-col gap-1">
              <p>At {node}</p>
              {url === null ? (
                <p className="text-muted">{state === "deleted" ? "No longer kept" : state}</p>
              ) : (
                <audio
                  controls
                  preload="none"
                  aria-label={`Message ${at + 1}`}
                  src={`/api/v1/calls/${call.call_id}/messages/${at + 1}`}
                  className="w-full"
                />
              )}
            </div>
          ))}
        </Panel>
      )}
      {transcript && transcript.length > 0 && <Transcript lines={transcript} />}
      {(menu_path.length > 0 || dtmf !== "" || entries.length > 0) && (
        <Panel title="Keys and entries">
          {dtmf !== "" && <p>Pressed: {dtmf}</p>}
          {menu_path.length > 0 && (
            <ol aria-label="Path through the menu" className="flex flex-col gap-1">
              {menu_path.map(({ node, key }, at) => (
                <li key={at}>{key === null ? node : `${node}: ${key}`}</li>
              ))}
            </ol>
          )}
          {entries.map(([name, value]) => (
            <p key={name}>
              {name}: {value}
            </p>
          ))}
        </Panel>
      )}
    </>
  );
}

function Transcript({ lines }: { readonly lines: NonNullable<CallDetail["transcript"]> }) {
  return (
    <Panel title="Transcript">
      <ol className="flex flex-col gap-2">
        {lines.map(({ who, text, at }, index) => (
          <li
            key={index}
            className={`max-w-[85%] rounded-xl px-3 py-2 wrap-anywhere ${who === "agent" ? "bg-hover self-start" : "bg-accent-soft self-end"}`}
          >
            <span className="text-muted block text-xs">
              {who === "agent" ? "AI agent" : "Customer"}, <Time at={at} />
            </span>
            {text}
          </li>
        ))}
      </ol>
    </Panel>
  );
}
