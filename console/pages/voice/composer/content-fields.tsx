import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { CallType } from "../../../api/voice.ts";
import { FormError } from "../../../ui/form-error.tsx";
import { PageLink } from "../../../ui/page-link.tsx";
import { useMay } from "../../../ui/permission.ts";
import { SelectField } from "../../../ui/select-field.tsx";
import { playable } from "../content/file-words.ts";
import { errorOf, type VoiceComposer } from "./use-voice-composer.ts";

const kinds: readonly {
  readonly type: CallType;
  readonly label: string;
  readonly text: string;
}[] = [
  {
    type: "obd_voice_call",
    label: "Recording",
    text: "Everyone hears the same audio.",
  },
  {
    type: "obd_smartvoice",
    label: "Personal script",
    text: "A text with each person's own values, spoken by a voice.",
  },
  {
    type: "obd_ivr",
    label: "Menu",
    text: "People press keys to choose.",
  },
  {
    type: "ai_bot",
    label: "AI agent",
    text: "A conversation that asks and answers.",
  },
];

/** The kind of call and what people hear. */
export function ContentFields({ composer }: { readonly composer: VoiceComposer }) {
  const { draft, files, change } = composer;
  const usableIn = (kind: CallType) =>
    files.rows.filter((file) => file.active && file.status === "ready" && playable[kind](file));
  const usable = usableIn(draft.call_type);
  const choose = (call_type: CallType) => {
    const fits = usableIn(call_type).some(({ id }) => String(id) === draft.voice_file_id);
    change({ call_type, mapping: {}, ...(fits ? {} : { voice_file_id: "" }) });
  };
  const none = files.isSuccess && usable.length === 0 && <NoContent />;
  const hint = unlisted[draft.call_type] ?? none;
  return (
    <>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 font-medium">Kind of call</legend>
        <div className="grid gap-2 sm:grid-cols-2">
          {kinds.map(({ type, label, text }) => (
            <label
              key={type}
              className="border-line has-checked:border-accent has-checked:bg-accent-soft flex items-start gap-2 rounded-lg border p-3"
            >
              <input
                type="radio"
                name="call_type"
                checked={draft.call_type === type}
                onChange={() => choose(type)}
                className="mt-1"
              />
              <span>
                <span className="font-medium">{label}</span>
                <span className="text-muted block text-xs">{text}</span>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      <FormError error={files.error} />
      <SelectField
        label="Content"
        name="voice_file_id"
        placeholder="Choose what people hear"
        options={usable.map(({ id, name }) => ({ value: id, label: name }))}
        value={draft.voice_file_id}
        error={errorOf(composer, "voice_file_id")}
        hint={hint}
        onChange={({ target }) => change({ voice_file_id: target.value, mapping: {} })}
      />
    </>
  );
}

/** A menu or an AI agent that was just made belongs to no content yet. */
const unlisted: Partial<Record<CallType, ReactNode>> = {
  obd_ivr: <Unlisted what="menu" to="/voice/menus" page="Menus" />,
  ai_bot: <Unlisted what="AI agent" to="/voice/agents" page="AI agents" />,
};

function Unlisted({
  what,
  to,
  page,
}: {
  readonly what: string;
  readonly to: "/voice/menus" | "/voice/agents";
  readonly page: string;
}) {
  return (
    <>
      Your {what} is not listed? Open it in{" "}
      <PageLink to={to} className="text-accent underline">
        {page}
      </PageLink>{" "}
      and press “Call people with it”.
    </>
  );
}

function NoContent() {
  const may = useMay("voice.content.manage");
  return (
    <>
      There is no content of this kind yet.{" "}
      {may && (
        <Link to="/voice/files/new" className="text-accent underline">
          Create it
        </Link>
      )}
    </>
  );
}
