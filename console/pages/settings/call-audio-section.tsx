import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { voiceFileQuery, voiceFilesQuery, type VoiceFile } from "../../api/voice.ts";
import { changedParts, type FormValues } from "../../ui/form-fields.tsx";
import { useMay } from "../../ui/permission.ts";
import { SelectField } from "../../ui/select-field.tsx";
import {
  SettingPanel,
  useSettingForm,
  Warning,
  type SectionProps,
  type SettingForm,
} from "./setting-form.tsx";

const fields = [
  {
    name: "accept_voice_file_id",
    label: "Ask agents to press 1",
    none: "Do not ask",
    note: "Agents on phone numbers hear it and get the customer only after pressing 1, so that voicemail does not count as an agent. Agents at extensions are not asked.",
  },
  {
    name: "busy_voice_file_id",
    label: "Busy message",
    none: "The built-in message",
    note: "Callers hear it when no agent is free.",
  },
] as const;

const json = (values: FormValues) =>
  Object.fromEntries(
    fields.map(({ name }) => [name, values[name] === "" ? null : Number(values[name])]),
  );

/** Only what changed is sent: the other file may have been archived. */
const patchOf = (values: FormValues, saved: FormValues) => changedParts(json(saved), json(values));

/** The voice files that calls play by themselves. */
export function CallAudioSection({ account: { calls }, onChanged }: SectionProps) {
  const form = useSettingForm({
    values: Object.fromEntries(fields.map(({ name }) => [name, String(calls[name] ?? "")])),
    names: fields.map(({ name }) => name),
    section: "calls",
    patchOf,
    onChanged,
  });
  return (
    <SettingPanel title="Audio in calls" form={form}>
      <div className="grid items-start gap-4 sm:grid-cols-2">
        {fields.map((field) => (
          <VoiceFileField key={field.name} field={field} form={form} />
        ))}
      </div>
      <NoAudio />
    </SettingPanel>
  );
}

const isAudible = ({ active, status, duration_ms }: VoiceFile) =>
  active && status === "ready" && duration_ms !== null;

const useMaySee = () =>
  [useMay("voice.content.read"), useMay("voice.content.manage")].includes(true);

/** One of the files by its name, or none. */
function VoiceFileField({
  field: { name, label, none, note },
  form: { register, watch, formState },
}: {
  readonly field: (typeof fields)[number];
  readonly form: SettingForm;
}) {
  const value = String(watch(name));
  // A select drops a value for which it has no option.
  const saved = Number(formState.defaultValues?.[name]);
  const { audible, chosen, isLoading } = useVoiceFiles(saved);
  const others = audible.filter(({ id }) => id !== saved);
  const options = [
    ...(saved === 0 ? [] : [{ value: saved, label: nameOf(saved, chosen, isLoading) }]),
    ...others.map((file) => ({ value: file.id, label: file.name })),
  ].toSorted((a, b) => a.value - b.value);
  const isArchived = value === String(saved) && chosen?.active === false;
  return (
    <SelectField
      {...register(name)}
      label={label}
      placeholder={none}
      options={options}
      error={formState.errors[name]?.message}
      hint={
        <>
          {note}
          {isArchived && (
            <Warning>
              This file is archived. Calls still play it; once replaced, it cannot be chosen again.
            </Warning>
          )}
          {chosen && value === String(saved) && (
            <Link
              to="/voice/files/$id"
              params={{ id: saved }}
              className="text-accent mt-1 block w-fit underline"
            >
              Listen to {chosen.name}
            </Link>
          )}
        </>
      }
    />
  );
}

const nameOf = (id: number, file: VoiceFile | undefined, isLoading: boolean) => {
  if (!file) return isLoading ? "Loading…" : `Voice file ${id}`;
  return file.active ? file.name : `${file.name} (archived)`;
};

/** Reads the files that can be chosen, and the chosen one also if it is not among them. */
function useVoiceFiles(chosen_id: number) {
  const enabled = useMaySee();
  const list = useQuery({ ...voiceFilesQuery, enabled });
  const audible = (list.data ?? []).filter(isAudible);
  const listed = audible.find(({ id }) => id === chosen_id);
  const isUnlisted = list.isSuccess && chosen_id !== 0 && !listed;
  const other = useQuery({ ...voiceFileQuery(chosen_id), enabled: enabled && isUnlisted });
  return {
    audible,
    chosen: listed ?? (isUnlisted ? other.data : undefined),
    isLoading: list.isLoading || other.isLoading,
  };
}

/** Says why there is nothing to choose. */
function NoAudio() {
  const maySee = useMaySee();
  const mayManage = useMay("voice.content.manage");
  const { data } = useQuery({ ...voiceFilesQuery, enabled: maySee });
  if (!maySee)
    return <p className="text-muted text-xs">Your role does not include seeing voice files.</p>;
  if (!data || data.some(isAudible)) return null;
  return (
    <p className="text-muted text-xs">
      There is no audio to choose.{" "}
      {mayManage && (
        <Link to="/voice/files/new" className="text-accent underline">
          Add audio
        </Link>
      )}
    </p>
  );
}
