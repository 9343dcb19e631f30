import { useQuery } from "@tanstack/react-query";
import { voiceFilesQuery } from "../../../api/voice.ts";
import { withChosen } from "../../../ui/option.ts";
import { SelectField } from "../../../ui/select-field.tsx";
import { TextAreaField } from "../../../ui/text-area-field.tsx";
import type { DraftNode } from "./menu-draft.ts";

type Prompt = NonNullable<DraftNode["prompt"]>;

/** What a node says: a text that is synthesized, or the audio of a voice file. */
export function PromptFields({
  label,
  name,
  prompt,
  errorOf,
  onChange,
}: {
  readonly label: string;
  readonly name: string;
  readonly prompt: Prompt | null | undefined;
  /** The error of the prompt, which has this name, or of a field of it. */
  readonly errorOf: (field: string) => string | undefined;
  readonly onChange: (prompt: Prompt | null) => void;
}) {
  const { data: files = [] } = useQuery(voiceFilesQuery);
  const audible = files.filter(
    ({ duration_ms, status }) => duration_ms !== null && status === "ready",
  );
  const file_id = prompt?.voice_file_id ?? null;
  const part = file_id === null ? "say" : "voice_file_id";
  const given_error = errorOf(name) ?? errorOf(`${name}.${part}`);
  // The API's error would name its own fields.
  const error = given_error && !prompt ? "Write what it says, or choose an audio." : given_error;
  const options = withChosen(
    audible.map((file) => ({ value: file.id, label: file.name })),
    file_id,
    "Audio",
  );
  return (
    <div className="grid items-start gap-x-4 gap-y-3 sm:grid-cols-[2fr_1fr]">
      {file_id === null && (
        <TextAreaField
          label={label}
          name={name}
          rows={2}
          value={prompt?.say ?? ""}
          error={error}
          onChange={({ target: { value } }) =>
            onChange(
              value === ""
                ? null
                : { say: value, ...(prompt?.language ? { language: prompt.language } : {}) },
            )
          }
        />
      )}
      {options.length > 0 && (
        <SelectField
          label={file_id === null ? "Or plays" : label}
          name={`${name}.voice_file_id`}
          placeholder="No audio: its text"
          options={options}
          value={file_id ?? ""}
          error={file_id === null ? undefined : error}
          onChange={({ target: { value } }) =>
            onChange(value === "" ? null : { voice_file_id: Number(value) })
          }
        />
      )}
    </div>
  );
}
