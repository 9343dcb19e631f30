import { useEffect, useMemo, useRef, useState } from "react";
import { fieldError } from "../../../messages/field-error.ts";
import { Button } from "../../../ui/button.tsx";
import { FileButton } from "../../../ui/file-button.tsx";
import { FormError } from "../../../ui/form-error.tsx";
import { TextAreaField } from "../../../ui/text-area-field.tsx";
import { beginRecording, type Recording } from "./record-wav.ts";

/** Where the audio comes from. */
export type AudioSource =
  | { readonly kind: "none" }
  | { readonly kind: "upload" | "record"; readonly file: File | null }
  | { readonly kind: "text"; readonly text: string };

const kinds = [
  ["upload", "Upload a file"],
  ["record", "Record"],
  ["text", "Write a text"],
  ["none", "No audio"],
] as const;

const empty: Readonly<Record<AudioSource["kind"], AudioSource>> = {
  none: { kind: "none" },
  upload: { kind: "upload", file: null },
  record: { kind: "record", file: null },
  text: { kind: "text", text: "" },
};

/** Chooses the audio that everyone hears: a file, a recording from the microphone, or a text that is synthesized. */
export function AudioSourceFields({
  source,
  error,
  onChange,
}: {
  readonly source: AudioSource;
  readonly error: string | undefined;
  readonly onChange: (source: AudioSource) => void;
}) {
  return (
    <>
      <fieldset className="flex flex-wrap gap-x-5 gap-y-2">
        <legend className="sr-only">Where the audio comes from</legend>
        {kinds.map(([kind, label]) => (
          <label key={kind} className="flex items-center gap-2">
            <input
              type="radio"
              name="source"
              checked={source.kind === kind}
              onChange={() => onChange(empty[kind])}
            />
            {label}
          </label>
        ))}
      </fieldset>
      {source.kind === "upload" && (
        <div className="flex flex-wrap items-center gap-3">
          <FileButton
            label={source.file ? "Choose another file" : "Choose an audio file"}
            accept="audio/wav,audio/mpeg,audio/ogg,.wav,.mp3,.ogg,.opus"
            onChoose={(file) => onChange({ kind: "upload", file })}
          />
          <span className="text-muted wrap-anywhere">
            {source.file?.name ?? "WAV, MP3 or Ogg, up to 50 MB and 15 minutes"}
          </span>
        </div>
      )}
      {source.kind === "record" && (
        <Recorder onRecord={(file) => onChange({ kind: "record", file })} />
      )}
      {source.kind === "text" && (
        <TextAreaField
          label="Text"
          name="text"
          rows={4}
          value={source.text}
          error={error}
          hint="The same for everyone. It is synthesized once."
          onChange={({ target }) => onChange({ kind: "text", text: target.value })}
        />
      )}
      {"file" in source && source.file && <Chosen file={source.file} />}
      {error !== undefined && source.kind !== "text" && (
        <p role="alert" className="text-danger text-xs">
          {fieldError("Audio", error)}
        </p>
      )}
    </>
  );
}

function Chosen({ file }: { readonly file: File }) {
  const url = useMemo(() => URL.createObjectURL(file), [file]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  return (
    <audio controls aria-label={`Listen to ${file.name}`} src={url} className="w-full max-w-md" />
  );
}

function Recorder({ onRecord }: { readonly onRecord: (file: File) => void }) {
  const recording = useRef<Recording | null>(null);
  const isClosed = useRef(false);
  const [state, setState] = useState<"off" | "beginning" | "on" | "ending">("off");
  const [error, setError] = useState<Error | null>(null);
  const begin = async () => {
    setError(null);
    setState("beginning");
    try {
      const begun = await beginRecording();
      if (isClosed.current) return begun.discard();
      recording.current = begun;
      setState("on");
    } catch {
      setState("off");
      setError(
        new Error("The browser gives no access to a microphone. Allow it, or upload a file."),
      );
    }
  };
  const stop = async () => {
    setState("ending");
    const ended = recording.current!;
    recording.current = null;
    try {
      const file = await ended.stop();
      if (!isClosed.current) onRecord(file);
    } catch {
      setError(
        new Error("The browser could not read what it recorded. Record again, or upload a file."),
      );
    }
    setState("off");
  };
  // A page that is closed does not listen on.
  useEffect(() => {
    isClosed.current = false;
    return () => {
      isClosed.current = true;
      recording.current?.discard();
    };
  }, []);
  return (
    <div className="flex flex-wrap items-center gap-3">
      {state === "on" || state === "ending" ? (
        <Button kind="danger" busy={state === "ending"} onClick={() => void stop()}>
          Stop recording
        </Button>
      ) : (
        <Button busy={state === "beginning"} onClick={() => void begin()}>
          Start recording
        </Button>
      )}
      <span role="status" className="text-muted">
        {state === "on" && "Recording…"}
      </span>
      <FormError error={error} />
    </div>
  );
}
